/** The drills of `top.test.ts`. */
import '../../whole/top/top.test.ts'
