/** The drills of `serve.test.ts`. */
import './serve.test.ts'
