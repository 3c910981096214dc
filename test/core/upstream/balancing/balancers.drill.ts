/** The drills of `balancers.test.ts`. */
import './balancers.test.ts'
