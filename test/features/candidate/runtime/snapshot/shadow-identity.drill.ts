/** The drills of `shadow-identity.test.ts`. */
import './shadow-identity.test.ts'
