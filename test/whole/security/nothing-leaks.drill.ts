/** The drills of `nothing-leaks.test.ts`. */
import './nothing-leaks.test.ts'
