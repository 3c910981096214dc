/** The drills of `diff-reports.test.ts`. */
import './diff-reports.test.ts'
