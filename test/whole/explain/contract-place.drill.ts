/** The drills of `contract-place.test.ts`. */
import './contract-place.test.ts'
