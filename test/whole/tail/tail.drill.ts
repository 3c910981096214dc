/** The drills of `tail.test.ts`. */
import './tail.test.ts'
