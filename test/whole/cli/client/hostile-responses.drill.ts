/** The drills of `hostile-responses.test.ts`. */
import './hostile-responses.test.ts'
