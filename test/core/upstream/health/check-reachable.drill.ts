/** The drills of `check-reachable.test.ts`. */
import './check-reachable.test.ts'
