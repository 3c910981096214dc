import { Alarm, now, wallClock } from '../clock.ts'
import type { HealthCheckConfig } from '../config/config.ts'
import { jittered } from './jitter.ts'
import type { Probe } from './standing.ts'

/** Hears what the probes of an endpoint say. */
export interface HealthListener {
  probed(probe: Probe): void
  up(): void
  down(reason: string): void
}

const soonMs = 1000

/**
 * Probes an endpoint again and again, one probe at a time: first at a random moment within a second, then every interval (±10 %) after
 * the end of the last. So many in a row change what is known of it; before that it counts as up.
 */
export class HealthCheck {
  readonly #config: HealthCheckConfig
  readonly #probe: () => Promise<void>
  readonly #report: HealthListener
  readonly #random: () => number
  readonly #alarm = new Alarm(() => void this.#ask())
  #isUp = true
  /** Probes that said otherwise, since the last that did not. */
  #against = 0
  #closed = false

  constructor(
    config: HealthCheckConfig,
    probe: () => Promise<void>,
    report: HealthListener,
    random: () => number = Math.random,
  ) {
    this.#config = config
    this.#probe = probe
    this.#report = report
    this.#random = random
    this.#alarm.set(Math.max(1, Math.round(random() * Math.min(config.intervalMs, soonMs))))
  }

  /** Probes no more, and reports nothing more. */
  close(): void {
    this.#closed = true
    this.#alarm.clear()
  }

  async #ask(): Promise<void> {
    const startedAt = now()
    const reason = await this.#probe().then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
    if (this.#closed) return
    this.#report.probed({ at: wallClock(), latencyMs: now() - startedAt, reason })
    this.#judge(reason)
    this.#alarm.set(jittered(this.#config.intervalMs, this.#random))
  }

  #judge(reason: string | null): void {
    const { healthyAfter, unhealthyAfter } = this.#config
    const well = reason === null
    this.#against = well === this.#isUp ? 0 : this.#against + 1
    if (this.#against < (well ? healthyAfter : unhealthyAfter)) return
    this.#against = 0
    this.#isUp = well
    if (reason === null) this.#report.up()
    else this.#report.down(reason)
  }
}
