/** The drills of `http2-continuation-flood.test.ts`. */
import './http2-continuation-flood.test.ts'
