/** The drills of `hanging-workers.test.ts`. */
import './hanging-workers.test.ts'
