/** The drills of `draft-as-file.test.ts`. */
import './draft-as-file.test.ts'
