/** The drills of `balancer-contract.test.ts`. */
import './balancer-contract.test.ts'
