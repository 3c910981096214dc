/** The drills of `notified.test.ts`. */
import './notified.test.ts'
