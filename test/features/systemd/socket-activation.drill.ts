/** The drills of `socket-activation.test.ts`. */
import './socket-activation.test.ts'
