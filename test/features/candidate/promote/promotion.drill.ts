/** The drills of `promotion.test.ts`. */
import './promotion.test.ts'
