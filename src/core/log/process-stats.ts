import { type ELDHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { epochMs, now } from '../lib/clock.ts'
import { tryOrNull } from '../lib/try.ts'

export type ProcessStatsReport = ProcessStats['report']

// Long enough for a 99th percentile, short enough for recent events.
const windowMs = 5000
const resolutionMs = 20

export class ProcessStats {
  /** Computed once: the clock may be set, and reports may be read late. */
  readonly #startedAt = Math.round(epochMs() - process.uptime() * 1000)
  /** As last read: without a free descriptor (EMFILE), it cannot be read. */
  #memory = process.memoryUsage()
  #histogram: ELDHistogram | null = null
  #windowStartedAt = 0
  #lastWindow: ReturnType<typeof readDelays> | null = null

  monitorEventLoop(on: boolean): void {
    if (on === (this.#histogram !== null)) return
    this.#histogram?.disable()
    this.#histogram = on ? monitorEventLoopDelay({ resolution: resolutionMs }) : null
    this.#histogram?.enable()
    this.#windowStartedAt = now()
    this.#lastWindow = null
  }

  get report() {
    this.#memory = tryOrNull(() => process.memoryUsage()) ?? this.#memory
    const { rss, heapUsed, heapTotal, external } = this.#memory
    const { user, system } = process.cpuUsage()
    const { active, idle } = performance.eventLoopUtilization()
    return {
      pid: process.pid,
      startedAt: this.#startedAt,
      uptimeSeconds: process.uptime(),
      cpuSeconds: { user: user / 1e6, system: system / 1e6 },
      residentBytes: rss,
      heap: { usedBytes: heapUsed, totalBytes: heapTotal, limitBytes: getHeapStatistics().heap_size_limit },
      externalBytes: external,
      /** Since the start; delays in the last 5 s; null: not measured, or not yet. */
      eventLoop: { activeSeconds: active / 1000, idleSeconds: idle / 1000, delayMs: this.#delay() },
    }
  }

  /** The last complete window: a client that polls often must not shorten it. */
  #delay() {
    const histogram = this.#histogram
    if (histogram === null) return null
    const at = now()
    if (at - this.#windowStartedAt >= windowMs && histogram.count > 0) {
      this.#lastWindow = readDelays(histogram)
      histogram.reset()
      this.#windowStartedAt = at
    }
    return this.#lastWindow
  }
}

/** How late timers were, in ms. */
const readDelays = (histogram: ELDHistogram) => {
  const late = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - resolutionMs)
  return { p50: late(histogram.percentile(50)), p99: late(histogram.percentile(99)), max: late(histogram.max) }
}
