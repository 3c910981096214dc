import { epochMs, now } from '../../core/lib/clock.ts'
import type { LogEvent } from '../../core/log/log.ts'
import type { Reported } from '../../core/runtime/status/field.ts'
import * as field from '../../core/runtime/status/field.ts'
import type { ReportSection } from '../../core/runtime/status/status-part.ts'

// A collector that is down is logged for as long as it is, but not with every batch: where one of two behind an address
// is down, every second batch is lost.
const logIntervalMs = 60_000

/** Counts of spans by their fate: numbers that only ever grow. */
export interface SpanCounts {
  /** Accepted by the collector. */
  exported: number
  /** Never sent: too many were waiting, or the collector was no longer used. */
  dropped: number
  /** Sent, and not accepted. */
  failed: number
  /** Why spans are lost, and since when (ms since the epoch). Null: the last batch arrived whole, or none was sent. */
  exportFailure: { readonly since: number; readonly reason: string } | null
}

export const emptySpanCounts = (): SpanCounts => ({ exported: 0, dropped: 0, failed: 0, exportFailure: null })

/**
 * Counts the spans sent to one collector, beside those of others in the same counts. Logs lost spans, once a minute at
 * most, and after each such line when they arrive again.
 */
export class SpanExportStats {
  readonly #counts: SpanCounts
  readonly #logEvent: LogEvent
  #pending = { dropped: 0, failed: 0 }
  #loggedAt = Number.NEGATIVE_INFINITY
  /** Whether a loss was logged whose end was not. */
  #isEndDue = false
  /** The failure that it reported of its own collector. */
  #reported: SpanCounts['exportFailure'] = null
  #isRetired = false

  constructor(counts: SpanCounts, log: LogEvent) {
    this.#counts = counts
    this.#logEvent = log
  }

  /** Counts a batch that the collector has taken, but for the spans of it that it has `rejected`. */
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
    // Why spans are not accepted says more than that there is no more room.
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

  /**
   * Reports no more of a collector that is no longer used: its losses still count, but are no failure of the one in
   * use.
   */
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
    /** What became of spans. Null: metrics are off. */
    readonly spans: Reported<typeof spansField>
  }
}

export const reported: readonly ReportSection[] = [
  { key: 'spans', field: spansField, collect: ({ config, parts }) => config.metrics && { ...parts.tracing.spans } },
]
