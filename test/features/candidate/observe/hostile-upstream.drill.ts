/** The drills of `hostile-upstream.test.ts`. */
import './hostile-upstream.test.ts'
