/** The drills of `cache-shared.test.ts`. */
import './cache-shared.test.ts'
