/** The drills of `guard.test.ts`. */
import './guard.test.ts'
