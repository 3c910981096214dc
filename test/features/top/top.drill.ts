/** The drills of `top.test.ts`. */
import './top.test.ts'
