import { epochMs, now } from '../../core/lib/clock.ts'
import type { LogEvent } from '../../core/log/log.ts'
import type { Reported } from '../../core/runtime/status/field.ts'
import * as field from '../../core/runtime/status/field.ts'
import type { ReportSection } from '../../core/runtime/status/status-part.ts'

// One of two collectors behind an address may be down: then every second batch is lost.
const logIntervalMs = 60_000

/** Each number only grows. */
export interface SpanCounts {
  /** Accepted by the collector. */
  exported: number
  /** Never sent: too many spans waited, or the collector was no longer used. */
  dropped: number
  /** Sent, and not accepted. */
  failed: number
  /** `since`: milliseconds since the epoch. Null: the last batch arrived whole, or none was sent. */
  exportFailure: { readonly since: number; readonly reason: string } | null
}

export const emptySpanCounts = (): SpanCounts => ({ exported: 0, dropped: 0, failed: 0, exportFailure: null })

/**
 * Collectors share `counts`. Lost spans are logged at most once a minute, and after each such line when spans arrive
 * again.
 */
export class SpanExportStats {
  readonly #counts: SpanCounts
  readonly #logEvent: LogEvent
  #pending = { dropped: 0, failed: 0 }
  #loggedAt = Number.NEGATIVE_INFINITY
  /** Whether a loss was logged whose end was not. */
  #isEndDue = false
  /** The failure of its own collector. */
  #reported: SpanCounts['exportFailure'] = null
  #isRetired = false

  constructor(counts: SpanCounts, log: LogEvent) {
    this.#counts = counts
    this.#logEvent = log
  }

  /** `rejected`: spans of the batch that the collector did not take. */
  onExported(spans: number, rejected = 0): void {
    this.#counts.exported += spans - rejected
    if (rejected > 0) return this.onLost('failed', rejected, 'partial success')
    if (!this.#isRetired) this.#counts.exportFailure = null
    if (!this.#isEndDue) return
    this.#isEndDue = false
    this.#logEvent('info', 'spans arrive again', { ...this.#pending })
    this.#pending = { dropped: 0, failed: 0 }
  }

  /** `reason` is a word of the gateway or of Node, never of the collector. */
  onLost(how: 'dropped' | 'failed', spans: number, reason: string): void {
    this.#counts[how] += spans
    this.#pending[how] += spans
    const { exportFailure } = this.#counts
    // The reason of a failure says more than a lack of room.
    if (!this.#isRetired && (exportFailure === null || how === 'failed')) {
      this.#reported = { since: exportFailure?.since ?? epochMs(), reason }
      this.#counts.exportFailure = this.#reported
    }
    const at = now()
    if (at - this.#loggedAt < logIntervalMs) return
    this.#loggedAt = at
    this.#isEndDue = true
    this.#logEvent('warn', 'spans are lost', { ...this.#pending, reason })
    this.#pending = { dropped: 0, failed: 0 }
  }

  /** Losses still count afterwards, but are no failure of the collector in use. */
  retire(): void {
    this.#isRetired = true
    if (this.#counts.exportFailure === this.#reported) this.#counts.exportFailure = null
  }
}

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
    /** Null: metrics are off. */
    readonly spans: Reported<typeof spansField>
  }
}

export const reported: readonly ReportSection[] = [
  { key: 'spans', field: spansField, collect: ({ config, parts }) => config.metrics && { ...parts.tracing.spans } },
]
