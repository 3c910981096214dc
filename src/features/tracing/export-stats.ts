import { epochMs, now } from '../../core/lib/clock.ts'
import type { LogEvent } from '../../core/log/log.ts'
import * as field from '../../core/runtime/status/field.ts'
import type { ReportSection } from '../../core/runtime/status/status-part.ts'

// If one of two collectors behind an address is down, every second batch is lost.
const logIntervalMs = 60_000

export interface SpanCounts {
  /** Accepted by the collector. */
  exported: number
  /** Never sent: too many spans waited, or an edit removed the collector. */
  dropped: number
  /** Sent, and not accepted. */
  failed: number
  /** `since`: milliseconds since the epoch. Null: the last batch was accepted, or none was sent. */
  exportFailure: { readonly since: number; readonly reason: string } | null
}

export const emptySpanCounts = (): SpanCounts => ({ exported: 0, dropped: 0, failed: 0, exportFailure: null })

export type SpanExportStats = ReturnType<typeof trackSpanExports>

/** Collectors share `counts`. Logs lost spans at most once a minute, and then their recovery. */
export const trackSpanExports = (counts: SpanCounts, logEvent: LogEvent) => {
  let pending = { dropped: 0, failed: 0 }
  let loggedAt = Number.NEGATIVE_INFINITY
  let isEndDue = false
  let reported: SpanCounts['exportFailure'] = null
  let isRetired = false

  const takePending = () => {
    const taken = pending
    pending = { dropped: 0, failed: 0 }
    return taken
  }

  /** `reason`: a word of the gateway or of Node, not of the collector. */
  const onLost = (how: 'dropped' | 'failed', spans: number, reason: string): void => {
    counts[how] += spans
    pending[how] += spans
    const { exportFailure } = counts
    // A failure explains more than a full queue.
    if (!isRetired && (exportFailure === null || how === 'failed')) {
      reported = { since: exportFailure?.since ?? epochMs(), reason }
      counts.exportFailure = reported
    }
    const at = now()
    if (at - loggedAt < logIntervalMs) return
    loggedAt = at
    isEndDue = true
    logEvent('warn', 'spans are lost', { ...takePending(), reason })
  }

  return {
    onLost,
    onExported(spans: number, rejected = 0): void {
      counts.exported += spans - rejected
      if (rejected > 0) return onLost('failed', rejected, 'partial success')
      if (!isRetired) counts.exportFailure = null
      if (!isEndDue) return
      isEndDue = false
      logEvent('info', 'spans arrive again', takePending())
    },
    /** Later losses count, but are no failure of the collector in use. */
    retire(): void {
      isRetired = true
      if (counts.exportFailure === reported) counts.exportFailure = null
    },
  }
}

const spansField = field.nullable(
  field.record({
    exported: field.count,
    dropped: field.count,
    failed: field.count,
    exportFailure: field.hidden<SpanCounts['exportFailure']>((_, workers) => workers.find(Boolean) ?? null),
  }),
)

declare module '../../core/runtime/status/status-part.ts' {
  interface StatusReport {
    readonly spans: field.Reported<typeof spansField>
  }
}

export const reported: readonly ReportSection[] = [
  {
    key: 'spans',
    field: spansField,
    collect: ({ config, parts }) => config.metrics && { ...(parts.tracing?.spans ?? emptySpanCounts()) },
  },
]
