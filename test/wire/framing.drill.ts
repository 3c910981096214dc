/** The drills of `framing.test.ts`. */
import './framing.test.ts'
