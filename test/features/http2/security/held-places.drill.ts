/** The drills of `held-places.test.ts`. */
import './held-places.test.ts'
