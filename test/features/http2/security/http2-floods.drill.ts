/** The drills of `http2-floods.test.ts`. */
import './http2-floods.test.ts'
