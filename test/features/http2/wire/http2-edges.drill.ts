/** The drills of `http2-edges.test.ts`. */
import './http2-edges.test.ts'
