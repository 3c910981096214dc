/** The drills of `lazy-loading.test.ts`. */
import './lazy-loading.test.ts'
