/** The drills of `reference.test.ts`. */
import './reference.test.ts'
