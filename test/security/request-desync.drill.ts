/** The drills of `request-desync.test.ts`. */
import './request-desync.test.ts'
