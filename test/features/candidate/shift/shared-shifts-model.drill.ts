/** The drills of `shared-shifts-model.test.ts`. */
import './shared-shifts-model.test.ts'
