/** The drills of `upstream-policies.test.ts`. */
import './upstream-policies.test.ts'
