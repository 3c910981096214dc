import { type ELDHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { epochMs, now } from '../lib/clock.ts'
import { tryOrNull } from '../lib/try.ts'

export type ProcessStatsReport = ProcessStats['report']

/** How late timers were, in milliseconds. */
interface EventLoopDelay {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

// Long enough for a 99th percentile to mean something, short enough for what has just happened to be seen.
const windowMs = 5000
const resolutionMs = 20

export class ProcessStats {
  /** Computed once: the clock may be set, and reports may be read late. */
  readonly #startedAt = Math.round(epochMs() - process.uptime() * 1000)
  /** As last read: without a descriptor left, the system does not say (EMFILE). */
  #memory = process.memoryUsage()
  #histogram: ELDHistogram | null = null
  #windowStartedAt = 0
  #lastWindow: EventLoopDelay | null = null

  /** Switches the measuring of timer delays on or off: it costs something of its own. */
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
      /** In milliseconds since the epoch. */
      startedAt: this.#startedAt,
      uptimeSeconds: process.uptime(),
      /** CPU time of all threads since the start. */
      cpuSeconds: { user: user / 1e6, system: system / 1e6 },
      residentBytes: rss,
      heap: { usedBytes: heapUsed, totalBytes: heapTotal, limitBytes: getHeapStatistics().heap_size_limit },
      /** Memory of buffers. */
      externalBytes: external,
      /**
       * Time at work and idle since the start, and how late timers were in the last window of 5 s. Null: not measured,
       * or not yet.
       */
      eventLoop: { activeSeconds: active / 1000, idleSeconds: idle / 1000, delayMs: this.#delay() },
    }
  }

  /** Reads the last window that has ended: a client that polls often must not shorten the window. */
  #delay(): EventLoopDelay | null {
    const histogram = this.#histogram
    if (histogram === null) return null
    const at = now()
    if (at - this.#windowStartedAt >= windowMs && histogram.count > 0) {
      const late = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - resolutionMs)
      this.#lastWindow = {
        p50: late(histogram.percentile(50)),
        p99: late(histogram.percentile(99)),
        max: late(histogram.max),
      }
      histogram.reset()
      this.#windowStartedAt = at
    }
    return this.#lastWindow
  }
}
