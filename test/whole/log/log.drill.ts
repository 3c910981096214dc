/** The drills of `log.test.ts`. */
import './log.test.ts'
