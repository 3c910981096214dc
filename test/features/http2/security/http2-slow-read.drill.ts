/** The drills of `http2-slow-read.test.ts`. */
import './http2-slow-read.test.ts'
