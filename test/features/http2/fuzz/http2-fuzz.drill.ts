/** The drills of `http2-fuzz.test.ts`. */
import './http2-fuzz.test.ts'
