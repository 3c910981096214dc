/** The drills of `safe-reuse.property.test.ts`. */
import './safe-reuse.property.test.ts'
