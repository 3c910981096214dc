/** The drills of `tracing.test.ts`. */
import './tracing.test.ts'
