/** The drills of `bundle.test.ts`. */
import './bundle.test.ts'
