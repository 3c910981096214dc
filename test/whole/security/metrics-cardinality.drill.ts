/** The drills of `metrics-cardinality.test.ts`. */
import './metrics-cardinality.test.ts'
