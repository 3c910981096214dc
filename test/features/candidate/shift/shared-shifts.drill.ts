/** The drills of `shared-shifts.test.ts`. */
import '../../../whole/candidate/shift/shared-shifts.test.ts'
