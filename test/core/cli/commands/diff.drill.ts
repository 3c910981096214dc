/** The drills of `diff.test.ts`. */
import './diff.test.ts'
