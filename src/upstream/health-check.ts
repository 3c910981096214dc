import { now, wallClock } from '../clock.ts'
import type { HealthCheckConfig } from '../config/config.ts'
import { repeat } from './repeat.ts'
import type { Probe } from './standing.ts'

/** Hears what the probes of an endpoint say. */
export interface HealthListener {
  probed(probe: Probe): void
  up(): void
  down(reason: string): void
}

const soonMs = 1000

/**
 * Probes an endpoint again and again, one probe at a time: first at a random moment within a second, then every
 * interval (±10 %) after the end of the last. So many in a row change what is known of it; before that it counts as up.
 * Returns what ends it.
 */
export const healthCheck = (
  { interval: intervalMs, healthyAfter, unhealthyAfter }: HealthCheckConfig,
  probe: () => Promise<void>,
  report: HealthListener,
  random: () => number = Math.random,
): (() => void) => {
  let isUp = true
  /** Probes that said otherwise, since the last that did not. */
  let against = 0

  const judge = (reason: string | null): void => {
    const well = reason === null
    against = well === isUp ? 0 : against + 1
    if (against < (well ? healthyAfter : unhealthyAfter)) return
    against = 0
    isUp = well
    if (reason === null) report.up()
    else report.down(reason)
  }
  const ask = async (): Promise<() => number> => {
    const startedAt = now()
    const reason = await probe().then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
    return () => {
      report.probed({ at: wallClock(), latencyMs: now() - startedAt, reason })
      judge(reason)
      return intervalMs
    }
  }
  return repeat(ask, Math.max(1, Math.round(random() * Math.min(intervalMs, soonMs))), random)
}
