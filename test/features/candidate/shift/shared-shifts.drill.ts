/** The drills of `shared-shifts.test.ts`. */
import './shared-shifts.test.ts'
