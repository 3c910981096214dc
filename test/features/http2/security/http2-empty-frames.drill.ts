/** The drills of `http2-empty-frames.test.ts`. */
import './http2-empty-frames.test.ts'
