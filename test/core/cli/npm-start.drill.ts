/** The drills of `npm-start.test.ts`. */
import './npm-start.test.ts'
