/** The drills of `response-desync.test.ts`. */
import './response-desync.test.ts'
