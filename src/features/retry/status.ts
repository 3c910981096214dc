import * as field from '../../core/runtime/status/field.ts'
import type { GroupSection } from '../../core/runtime/status/status-part.ts'

const budget = field.nullable(field.record({ left: field.total }))

declare module '../../core/runtime/status/upstreams.ts' {
  interface UpstreamReport {
    readonly retryBudget: field.Reported<typeof budget>
  }
  interface UpstreamStatus {
    readonly retryBudget: field.Shown<typeof budget>
  }
}

export const ofGroup: readonly GroupSection[] = [
  {
    key: 'retryBudget',
    field: budget,
    collect({ parts }, group) {
      const running = parts.retry.budgets[group]
      return running && { left: running.left }
    },
  },
]
