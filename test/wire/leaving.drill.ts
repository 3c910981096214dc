/** The drills of `leaving.test.ts`. */
import './leaving.test.ts'
