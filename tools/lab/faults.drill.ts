/** The drills of `faults.test.ts`. */
import './faults.test.ts'
