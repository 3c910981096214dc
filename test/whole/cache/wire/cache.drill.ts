/** The drills of `cache.test.ts`. */
import './cache.test.ts'
