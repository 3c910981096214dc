/** The drills of `lifecycle.test.ts`. */
import './lifecycle.test.ts'
