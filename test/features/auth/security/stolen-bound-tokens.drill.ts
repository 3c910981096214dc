/** The drills of `stolen-bound-tokens.test.ts`. */
import './stolen-bound-tokens.test.ts'
