import type { CandidateConfig, UpstreamConfig } from '../../config/config.ts'
import type { Exchange } from '../../exchange.ts'
import type { ShadowCopies } from '../../layers/candidate/shadow-copies.ts'
import type { OnShadowPair } from '../../observe/candidate/shadow-pair.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import type { ShadowDestination } from '../pipeline/shadow-layer.ts'

/**
 * Opens the destination of copies: the candidate's endpoints once more, on connections of their own, so that no client
 * on the candidate waits behind a copy. What copies come to opens no breaker and ejects no endpoint. What the probes of
 * the candidate find holds for copies too. Null: the candidate gets none.
 */
export const openShadow = (
  { upstream, shadow }: CandidateConfig,
  candidate: Upstream,
  open: (config: UpstreamConfig) => Upstream,
  copies: ShadowCopies,
  onPair: OnShadowPair,
): ShadowDestination | null => {
  if (shadow === null || shadow.sample === 0) return null
  copies.bounds = shadow
  const { members, send } = open({
    ...upstream,
    maxConnections: shadow.concurrency,
    maxPending: 0,
    outlier: null,
    circuitBreaker: null,
  })
  const sendToKnown = (exchange: Exchange): ReturnType<typeof send> => {
    for (const [index, { endpoint }] of members.entries())
      endpoint.applyOutage(candidate.members[index]?.health.down ?? null)
    return send(exchange)
  }
  return { send: members.length === 1 ? send : sendToKnown, copies, onPair }
}
