import type { UpstreamConfig } from '../../core/config/config.ts'
import type { Handler } from '../../core/exchange/exchange.ts'
import type { Upstream } from '../../core/upstream/upstream.ts'
import type { Side } from '../../operations.ts'
import type { CandidateConfig } from './config/candidate.ts'
import type { ShadowDestination } from './layers/shadow.ts'
import { maxRepeats, type ShadowCopies } from './layers/shadow-copies.ts'
import type { ComparisonCounts } from './observe/comparison-counts.ts'

// A time in whole seconds is another one then.
const repeatAfterMs = 1_100

export interface ShadowResources {
  readonly sides: Readonly<Record<Side, Upstream>>
  readonly primary: UpstreamConfig
  open(use: 'shadow' | 'repeat', config: UpstreamConfig): Upstream
  readonly copies: ShadowCopies
  /** Null: answers are not compared. */
  readonly comparison: ComparisonCounts | null
}

/**
 * Opens the destination of copies: the candidate's endpoints once more, on connections of their own, so that no client
 * on the candidate waits behind a copy. What copies come to opens no breaker and ejects no endpoint. What the probes of
 * the candidate find and what operators drain holds for copies too. The same is true of the primary's endpoints, where
 * noise is learnt. Null: the candidate gets none.
 */
export const openShadow = (
  { upstream, shadow }: CandidateConfig,
  { sides, primary, open, copies, comparison }: ShadowResources,
): ShadowDestination | null => {
  if (shadow === null || shadow.sample === 0) return null
  const openBeside = (use: 'shadow' | 'repeat', config: UpstreamConfig, running: Upstream, max: number) => ({
    send: followOutages(
      open(use, { ...config, maxConnections: max, maxPending: 0, outlier: null, circuitBreaker: null }),
      running,
    ),
    isUp: () => running.members.some(({ takesRequests, health }) => takesRequests && !health.isDown),
  })
  return {
    ...openBeside('shadow', upstream, sides.candidate, shadow.concurrency),
    copies,
    onPair: comparison?.onPair ?? null,
    repeats:
      comparison !== null && shadow.compare?.noise === true
        ? {
            wants: (operation) => copies.repeating < maxRepeats && comparison.wantsRepeat(operation),
            onSend: comparison.onRepeat,
            afterMs: repeatAfterMs,
            ...openBeside('repeat', primary, sides.primary, Math.min(shadow.concurrency, maxRepeats)),
            onPair: comparison.onRepeatedPair,
          }
        : null,
  }
}

/** Sends around the endpoints that probes have found down on the side itself. */
const followOutages = ({ members, send }: Upstream, running: Upstream): Handler =>
  members.length === 1
    ? send
    : (exchange) => {
        for (const [index, { endpoint }] of members.entries())
          endpoint.applyOutage(running.members[index]?.health.down ?? null)
        return send(exchange)
      }
