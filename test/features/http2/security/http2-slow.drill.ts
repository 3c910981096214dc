/** The drills of `http2-slow.test.ts`. */
import './http2-slow.test.ts'
