/** The drills of `workers.test.ts`. */
import './workers.test.ts'
