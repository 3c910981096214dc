import { type ELDHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { now } from '../clock.ts'

/** How a process does, as plain data. */
export type ProcessStatsReport = ProcessStats['report']

/** How late timers were, in milliseconds. */
interface EventLoopDelay {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

// Long enough for a hundredth to mean something, short enough for what has just happened to be seen.
const windowMs = 5000
const resolutionMs = 20

/** Measures the process that it is made in. */
export class ProcessStats {
  #histogram: ELDHistogram | null = null
  #windowStartedAt = 0
  #lastWindow: EventLoopDelay | null = null

  /** Measures how late timers are from now on, or does so no longer: that alone costs something. */
  monitorEventLoop(on: boolean): void {
    if (on === (this.#histogram !== null)) return
    this.#histogram?.disable()
    this.#histogram = on ? monitorEventLoopDelay({ resolution: resolutionMs }) : null
    this.#histogram?.enable()
    this.#windowStartedAt = now()
    this.#lastWindow = null
  }

  get report() {
    const { rss, heapUsed, heapTotal, external } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    const { active, idle } = performance.eventLoopUtilization()
    return {
      pid: process.pid,
      uptimeSeconds: process.uptime(),
      /** Of all its threads, since it started. */
      cpuSeconds: { user: user / 1e6, system: system / 1e6 },
      residentBytes: rss,
      heap: { usedBytes: heapUsed, totalBytes: heapTotal, limitBytes: getHeapStatistics().heap_size_limit },
      /** Of buffers. */
      externalBytes: external,
      /**
       * How long it has been at work, and idle; how late timers were over the last seconds, null: it is not measured,
       * or not yet.
       */
      eventLoop: { activeSeconds: active / 1000, idleSeconds: idle / 1000, delayMs: this.#delay() },
    }
  }

  /** Tells of the last window that is over; who asks often must not have each answer be of the moment before. */
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
