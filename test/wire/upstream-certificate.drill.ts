/** The drills of `upstream-certificate.test.ts`. */
import './upstream-certificate.test.ts'
