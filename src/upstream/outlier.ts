import { now, wallClock } from '../clock.ts'
import type { OutlierConfig } from '../config/config.ts'
import type { Member } from './member.ts'
import type { Outcome } from './outcome.ts'

/** An endpoint among its siblings. */
export type OutlierMember = Pick<Member, 'name' | 'standing' | 'takesWork'>

/** What is told of an ejection. `until` is milliseconds since the epoch. */
export interface Ejected {
  readonly endpoint: string
  readonly reason: string
  readonly forMs: number
  readonly until: number
}

/** Takes in how a request ended that says how the member is now, and that the standing has counted. */
export type Settled = (member: OutlierMember, outcome: Outcome) => void

// A rate of fewer says little.
const leastRequests = 20
const longestMs = 3_600_000
const mostDoublings = 5
// Those that fail together must not come back together.
const jitter = 0.1

/**
 * Takes endpoints out for a while that real traffic shows to fail: so many failures in a row, or a larger share of failures than their
 * siblings have. What it knows is kept in the standings, which outlive it; it has no timer, because an ejection is over when
 * its time is.
 *
 *     in ── failures in a row, or too large a share ──▶ out ── its time is over ──▶ on probation ── a success ──▶ in
 *                                                        ▲                               │
 *                                                        └───────── a failure ───────────┘
 */
export const outlierDetection = (
  { consecutiveFailures, failureRate, maxEjected, ejectionTime }: OutlierConfig,
  members: readonly OutlierMember[],
  onEjected: (ejected: Ejected) => void,
  random: () => number = Math.random,
): Settled => {
  const reasonFor = (member: OutlierMember, at: number): string | null => {
    const { standing } = member
    if (standing.onProbation) return 'failed again after its return'
    if (consecutiveFailures !== null && standing.consecutiveFailures >= consecutiveFailures)
      return `${standing.consecutiveFailures} failures in a row`
    return rateReason(member, at)
  }

  const rateReason = (member: OutlierMember, at: number): string | null => {
    const { recent } = member.standing
    const requests = recent.requests(at)
    if (failureRate === null || requests < leastRequests) return null
    let theirRequests = 0
    let theirFailures = 0
    for (const sibling of members) {
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
  const hasRoom = (at: number): boolean => {
    const serving = members.filter(({ takesWork }) => takesWork).length
    const out = members.filter(({ standing }) => standing.isEjected(at)).length
    return serving >= 2 && out < Math.max(1, Math.floor(serving * maxEjected))
  }

  /** Doubles with each one in a row, up to 32 times the first and an hour; a first that is configured longer holds. */
  const lengthMs = (inARow: number): number => {
    const grown = ejectionTime * 2 ** Math.min(inARow - 1, mostDoublings)
    return Math.round(Math.min(grown, Math.max(longestMs, ejectionTime)) * (1 + jitter * random()))
  }

  const eject = ({ name: endpoint, standing }: OutlierMember, reason: string, at: number): void => {
    const last = standing.ejection
    const inARow = last !== null && at - last.until <= last.until - last.startedAt
    standing.ejectionsInARow = inARow ? standing.ejectionsInARow + 1 : 1
    const forMs = lengthMs(standing.ejectionsInARow)
    const since = wallClock()
    standing.ejection = { since, reason, startedAt: at, until: at + forMs }
    standing.counts.ejections++
    standing.consecutiveFailures = 0
    standing.onProbation = true
    standing.recent.clear()
    onEjected({ endpoint, reason, forMs, until: since + forMs })
  }

  return (member, outcome) => {
    if (outcome === 'success') {
      member.standing.onProbation = false
      return
    }
    const at = now()
    const reason = reasonFor(member, at)
    if (reason !== null && member.takesWork && hasRoom(at)) eject(member, reason, at)
  }
}

const percent = (share: number): string => `${Math.round(share * 100)} %`
