/** The drills of `tokens-and-changes.test.ts`. */
import './tokens-and-changes.test.ts'
