import type { OutlierConfig } from '../../config/config.ts'
import { epochMs, now } from '../../lib/clock.ts'
import { formatDuration } from '../../lib/text/units.ts'
import type { LogEvent } from '../../log/log.ts'
import type { AttemptOutcome } from '../attempt/attempt-outcome.ts'
import type { GroupEndpoint } from '../endpoints/group-endpoint.ts'
import { failureWindowMs } from './endpoint-health.ts'

type OutlierMember = Pick<GroupEndpoint, 'name' | 'health' | 'receivesTraffic'>

const minRequests = 20
const maxEjectionMs = 3_600_000
const maxDoublings = 5
// Endpoints that fail together must not return together.
const jitter = 0.1

/**
 * Ejects endpoints for a while, by failures in a row or by a larger share of failures than their siblings. The
 * endpoints' health holds the state and outlives the detector.
 *
 *   in ── failures in a row, or too large a share ──▶ ejected ── its time is over ──▶ on probation ── a success ──▶ in
 *                                                        ▲                                 │
 *                                                        └────────── a failure ────────────┘
 */
export const createOutlierDetector = (
  { consecutiveFailures, failureRate, maxEjected, ejectionTime }: OutlierConfig,
  members: readonly OutlierMember[],
  logEvent: LogEvent,
  random: () => number = Math.random,
) => {
  const reasonFor = (member: OutlierMember, at: number): string | null => {
    const { health } = member
    if (health.onProbation) return 'failed again after an ejection'
    if (consecutiveFailures !== null && health.consecutiveFailures >= consecutiveFailures)
      return `${health.consecutiveFailures} failures in a row`
    return rateReason(member, at)
  }

  const rateReason = (member: OutlierMember, at: number): string | null => {
    const { recent } = member.health
    const requests = recent.requests(at)
    if (failureRate === null || requests < minRequests) return null
    let otherRequests = 0
    let otherFailures = 0
    for (const sibling of members) {
      if (sibling === member || !sibling.receivesTraffic) continue
      otherRequests += sibling.health.recent.requests(at)
      otherFailures += sibling.health.recent.failures(at)
    }
    if (otherRequests === 0) return null
    const failures = recent.failures(at)
    // Multiplied out: in floating point, 0.7 − 0.2 is less than 0.5.
    const excess = failures * otherRequests - otherFailures * requests
    if (excess < failureRate * requests * otherRequests) return null
    return `${percent(failures / requests)} of ${requests} requests failed in ${formatDuration(failureWindowMs)}, ${percent(otherFailures / otherRequests)} at its siblings`
  }

  const mayEject = (at: number): boolean => {
    const serving = members.filter(({ receivesTraffic }) => receivesTraffic)
    const out = serving.filter(({ health }) => health.isEjected(at)).length
    return serving.length >= 2 && out < Math.max(1, Math.floor(serving.length * maxEjected))
  }

  /** Capped at 32 times the first and 1 h; a longer configured time is kept. */
  const ejectionMs = (inARow: number): number => {
    const grown = ejectionTime * 2 ** Math.min(inARow - 1, maxDoublings)
    return Math.round(Math.min(grown, Math.max(maxEjectionMs, ejectionTime)) * (1 + jitter * random()))
  }

  const eject = ({ name: endpoint, health }: OutlierMember, reason: string, at: number): void => {
    const last = health.ejection
    const inARow = last !== null && at - last.until <= last.until - last.startedAt
    health.ejectionsInARow = inARow ? health.ejectionsInARow + 1 : 1
    const forMs = ejectionMs(health.ejectionsInARow)
    const since = epochMs()
    health.ejection = { since, reason, startedAt: at, until: at + forMs }
    health.counts.ejections++
    health.consecutiveFailures = 0
    health.onProbation = true
    health.recent.clear()
    logEvent('warn', 'endpoint ejected', { endpoint, reason, forMs, until: since + forMs })
  }

  /** Call after the health has counted the outcome. */
  return (member: OutlierMember, outcome: AttemptOutcome): void => {
    if (outcome === 'success') {
      member.health.onProbation = false
      return
    }
    const at = now()
    const reason = reasonFor(member, at)
    if (reason !== null && member.receivesTraffic && mayEject(at)) eject(member, reason, at)
  }
}

const percent = (share: number): string => `${Math.round(share * 100)} %`
