import { now, wallClock } from '../clock.ts'
import type { OutlierConfig } from '../config/config.ts'
import type { Outcome } from './outcome.ts'
import type { Standing } from './standing.ts'

/** Is an endpoint among its siblings. */
export interface OutlierMember {
  readonly name: string
  readonly standing: Standing
  /** Whether it gets requests when it is up. */
  readonly takesWork: boolean
}

/** Is what is told of an ejection. `until` is milliseconds since the epoch. */
export interface EjectionNotice {
  readonly reason: string
  readonly forMs: number
  readonly until: number
}

/** Hears of an ejection, after it. */
export type TellEjection = (event: 'ejected', member: OutlierMember, notice: EjectionNotice) => void

// A rate of fewer says little.
const leastRequests = 20
const longestMs = 3_600_000
const mostDoublings = 5
// Those that fail together must not come back together.
const jitter = 0.1

/**
 * Takes endpoints out for a while that real traffic shows to fail: so many failures in a row, or a larger share of failures than their
 * siblings have. What it knows is kept in the standings, so it outlives this object; it has no timer, because an ejection is over when
 * its time is.
 *
 *     in ── failures in a row, or too large a share ──▶ out ── its time is over ──▶ on probation ── a success ──▶ in
 *                                                        ▲                               │
 *                                                        └───────── a failure ───────────┘
 */
export class Outlier {
  readonly #config: OutlierConfig
  readonly #members: readonly OutlierMember[]
  readonly #tell: TellEjection
  readonly #random: () => number

  constructor(
    config: OutlierConfig,
    members: readonly OutlierMember[],
    tell: TellEjection,
    random: () => number = Math.random,
  ) {
    this.#config = config
    this.#members = members
    this.#tell = tell
    this.#random = random
  }

  /**
   * Takes in how a request ended that says how the member is now, and that the standing has counted. Only a failure
   * takes a member out.
   */
  settled(member: OutlierMember, outcome: Outcome): void {
    const { standing } = member
    if (outcome === 'success') {
      standing.onProbation = false
      return
    }
    const at = now()
    const reason = this.#reason(member, at)
    if (reason !== null && member.takesWork && this.#hasRoom(at)) this.#eject(member, reason, at)
  }

  #reason(member: OutlierMember, at: number): string | null {
    const { standing } = member
    const { consecutiveFailures } = this.#config
    if (standing.onProbation) return 'failed again after its return'
    if (consecutiveFailures !== null && standing.consecutiveFailures >= consecutiveFailures) {
      return `${standing.consecutiveFailures} failures in a row`
    }
    return this.#rateReason(member, at)
  }

  #rateReason(member: OutlierMember, at: number): string | null {
    const { failureRate } = this.#config
    const { recent } = member.standing
    const requests = recent.requests(at)
    if (failureRate === null || requests < leastRequests) return null
    let theirRequests = 0
    let theirFailures = 0
    for (const sibling of this.#members) {
      if (sibling === member || !sibling.takesWork) continue
      theirRequests += sibling.standing.recent.requests(at)
      theirFailures += sibling.standing.recent.failures(at)
    }
    if (theirRequests === 0) return null // nothing to compare it with
    const failures = recent.failures(at)
    // Multiplied out: 0.7 − 0.2 is less than 0.5 in floating point.
    const excess = failures * theirRequests - theirFailures * requests
    if (excess < failureRate * requests * theirRequests) return null
    return `${percent(failures / requests)} of ${requests} requests failed, ${percent(theirFailures / theirRequests)} elsewhere`
  }

  /** Tells whether one more may be out. Those that drain do not count as serving, so they make no room. */
  #hasRoom(at: number): boolean {
    let serving = 0
    let out = 0
    for (const { standing, takesWork } of this.#members) {
      if (takesWork) serving++
      if (standing.isEjected(at)) out++
    }
    return serving >= 2 && out < Math.max(1, Math.floor(serving * this.#config.maxEjected))
  }

  #eject(member: OutlierMember, reason: string, at: number): void {
    const { standing } = member
    const last = standing.ejection
    const inARow = last !== null && at - last.until <= last.until - last.startedAt
    standing.ejectionsInARow = inARow ? standing.ejectionsInARow + 1 : 1
    const forMs = this.#lengthMs(standing.ejectionsInARow)
    const since = wallClock()
    standing.ejection = { since, reason, startedAt: at, until: at + forMs }
    standing.ejections++
    standing.consecutiveFailures = 0
    standing.onProbation = true
    standing.recent.clear()
    this.#tell('ejected', member, { reason, forMs, until: since + forMs })
  }

  /** Doubles with each one in a row, up to 32 times the first and an hour; a first that is configured longer holds. */
  #lengthMs(inARow: number): number {
    const { ejectionTimeMs } = this.#config
    const grown = ejectionTimeMs * 2 ** Math.min(inARow - 1, mostDoublings)
    return Math.round(Math.min(grown, Math.max(longestMs, ejectionTimeMs)) * (1 + jitter * this.#random()))
  }
}

const percent = (share: number): string => `${Math.round(share * 100)} %`
