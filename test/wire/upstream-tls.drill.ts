/** The drills of `upstream-tls.test.ts`. */
import './upstream-tls.test.ts'
