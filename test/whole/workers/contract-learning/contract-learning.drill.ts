/** The drills of `contract-learning.test.ts`. */
import './contract-learning.test.ts'
