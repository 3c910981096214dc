/** The drills of `compile-cache.test.ts`. */
import './compile-cache.test.ts'
