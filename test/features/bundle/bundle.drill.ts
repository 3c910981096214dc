/** The drills of `bundle.test.ts`. */
import '../../whole/bundle/bundle.test.ts'
