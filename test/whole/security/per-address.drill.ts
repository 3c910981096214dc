/** The drills of `per-address.test.ts`. */
import './per-address.test.ts'
