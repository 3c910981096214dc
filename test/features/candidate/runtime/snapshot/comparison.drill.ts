/** The drills of `comparison.test.ts`. */
import './comparison.test.ts'
