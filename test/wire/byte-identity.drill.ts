/** The drills of `byte-identity.test.ts`. */
import './byte-identity.test.ts'
