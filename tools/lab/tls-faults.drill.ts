/** The drills of `tls-faults.test.ts`. */
import './tls-faults.test.ts'
