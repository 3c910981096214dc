/** The drills of `issuer-outage.test.ts`. */
import './issuer-outage.test.ts'
