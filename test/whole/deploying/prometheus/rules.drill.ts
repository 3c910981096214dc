/** The drills of `rules.test.ts`. */
import './rules.test.ts'
