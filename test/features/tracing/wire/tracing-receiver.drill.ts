/** The drills of `tracing-receiver.test.ts`. */
import './tracing-receiver.test.ts'
