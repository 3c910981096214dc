import type { Reported } from '../../core/runtime/status/field.ts'
import * as field from '../../core/runtime/status/field.ts'
import type { ReportSection } from '../../core/runtime/status/status-part.ts'
import type { SpanCounts } from './export-stats.ts'

const spansField = field.nullable(
  field.record({
    exported: field.count,
    dropped: field.count,
    failed: field.count,
    exportFailure: field.hidden<SpanCounts['exportFailure']>(
      (_, workers) => workers.find((one) => one !== null) ?? null,
    ),
  }),
)

declare module '../../core/runtime/status/report.ts' {
  interface StatusReport {
    /** What became of spans. Null: metrics are off. */
    readonly spans: Reported<typeof spansField>
  }
}

export const reported: readonly ReportSection[] = [
  { key: 'spans', field: spansField, collect: ({ config, parts }) => config.metrics && { ...parts.tracing.spans } },
]
