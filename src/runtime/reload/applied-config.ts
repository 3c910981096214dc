import type { ReportedConfig } from '../../config/diff/diff-configs.ts'
import type { LoadResult } from '../../config/load/load.ts'
import type { ProvenanceMap } from '../../config/load/provenance.ts'
import type { ConfigProblem } from '../../config/problem.ts'

/** A configuration with what was reported about it. */
export interface AppliedConfig extends ReportedConfig {
  readonly warnings: readonly ConfigProblem[]
  /** The files that it was read from. */
  readonly sources: LoadResult['sources']
  /** Where in them each value stands. */
  readonly provenance: ProvenanceMap
}
