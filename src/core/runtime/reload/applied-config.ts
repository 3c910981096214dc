import type { ReportedConfig } from '../../config/diff/diff-reports.ts'
import type { LoadResult } from '../../config/load/load.ts'
import type { ProvenanceMap } from '../../config/load/provenance.ts'
import type { ConfigProblem } from '../../config/problem.ts'

export interface AppliedConfig extends ReportedConfig {
  readonly warnings: readonly ConfigProblem[]
  readonly sources: LoadResult['sources']
  readonly provenance: ProvenanceMap
}
