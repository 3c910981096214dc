import type { Config } from '../../core/config/config.ts'
import type { Handler, Layer } from '../../core/exchange/exchange.ts'
import { defaultIpv6Prefix } from '../../core/exchange/request-owner.ts'
import { now } from '../../core/lib/clock.ts'
import { formatDuration, multiples } from '../../core/lib/text/units.ts'
import type { Upstream } from '../../core/upstream/upstream.ts'
import type { Group } from '../../operations.ts'
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
  `errors: ${multiples.format(errors)}, latency: ${multiples.format(latency)}, minRequests: ${minRequests}, window: ${formatDuration(window)}`

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
