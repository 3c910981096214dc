/** The drills of `load.test.ts`. */
import './load.test.ts'
