import type { Config, OperationConfig, UpstreamConfig } from '../../core/config/config.ts'
import type { Handler, Layer } from '../../core/exchange/exchange.ts'
import { defaultIpv6Prefix } from '../../core/exchange/request-owner.ts'
import { now } from '../../core/lib/clock.ts'
import { formatDuration, formatMultiple } from '../../core/lib/text/units.ts'
import type { Upstream } from '../../core/upstream/upstream.ts'
import type { Group } from '../../operations.ts'
import { keyFieldOf } from '../idempotency/idempotency-layer.ts'
import type { CandidateRetries, RetryAllowance } from '../retry/layer.ts'
import type { CandidateConfig, CandidateGuardConfig } from './config/candidate.ts'
import type { GuardOptions } from './layers/guard.ts'
import { sideLayer } from './layers/side.ts'
import { splitSend } from './layers/split-send.ts'
import { GuardCounts } from './observe/guard/guard-counts.ts'
import type { CandidateUse } from './shift/candidate-use.ts'

export const createSideLayer = (config: Config, group: Group, use: CandidateUse): Layer =>
  sideLayer({
    ...use,
    group,
    ipv6Prefix: clientIpv6Prefix(config),
    expose: config.upstreams[group].candidate?.expose ?? null,
  })

/** Returns how many leading bits of an IPv6 address count as one client, as the limits by address count them. */
export const clientIpv6Prefix = ({ limits }: Pick<Config, 'limits'>): number =>
  limits.address?.ipv6Prefix ?? defaultIpv6Prefix

export const formatGuard = ({ errors, latency, minRequests, window }: CandidateGuardConfig): string =>
  `errors: ${formatMultiple(errors)}, latency: ${formatMultiple(latency)}, minRequests: ${minRequests}, window: ${formatDuration(window)}`

/** `members` are those of the candidate. `counts` left out: nothing is reported. */
export const createGuardOptions = (
  config: Config,
  group: Group,
  members: Upstream['members'],
  counts = new GuardCounts(group, '', () => {}),
): GuardOptions => ({
  group,
  counts,
  ipv6Prefix: clientIpv6Prefix(config),
  isDrained: () => members.every(({ takesRequests }) => !takesRequests),
})

/** Creates the innermost handler of a group: the send of its upstream, or of both sides while a candidate is in use. */
export const createSend = (
  upstream: Upstream,
  candidate: Upstream | null,
  config: CandidateConfig | null,
  use: CandidateUse | null,
): Handler =>
  candidate === null || config === null || use === null
    ? upstream.send
    : splitSend({
        primary: upstream.send,
        candidate: candidate.send,
        fallback: config.fallback,
        candidateIsUp: () => {
          const at = now()
          return candidate.members.some(
            ({ takesRequests, health }) => takesRequests && !health.isDown && !health.isEjected(at),
          )
        },
      })

/**
 * Returns an upstream of a group whose responses, interim ones included, lack the field that names the side: the
 * gateway alone sets it.
 */
export const withoutExposedField = (upstream: UpstreamConfig, candidate: CandidateConfig | null): UpstreamConfig => {
  const { response } = upstream
  const expose = candidate?.expose ?? null
  return expose === null ? upstream : { ...upstream, response: { ...response, remove: [...response.remove, expose] } }
}

export const createCandidateRetries = (
  candidate: CandidateConfig | null,
  idempotency: OperationConfig['idempotency'],
): CandidateRetries | null =>
  candidate && { keyField: keyFieldOf(idempotency, candidate.upstream.request), fallback: candidate.fallback }

/**
 * Limits the retries of a group: none is granted, and none taken from the budget, while the circuit breaker of the side
 * that it would go to rejects it. `candidate` null: the group has no sides.
 */
export const createRetryAllowance = (
  budget: RetryAllowance | null,
  primary: Pick<Upstream, 'breaker'>,
  candidate: Pick<Upstream, 'breaker'> | null,
): RetryAllowance | null => {
  if (budget === null || (primary.breaker === null && (candidate === null || candidate.breaker === null))) return budget
  return {
    requested: () => budget.requested(),
    take: (side) => {
      const { breaker } = side === 'candidate' && candidate !== null ? candidate : primary
      return breaker?.state !== 'open' && budget.take(side)
    },
  }
}
