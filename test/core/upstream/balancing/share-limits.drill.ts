/** The drills of `share-limits.test.ts`. */
import './share-limits.test.ts'
