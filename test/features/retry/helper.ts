import type { Exchange, Handler, ProxyResponse } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { type FailureKind, failureTable } from '../../../src/core/exchange/failures/failure-table.ts'
import { now } from '../../../src/core/lib/clock.ts'
import type { RetryConfig } from '../../../src/features/retry/config.ts'
import { type FakeBody, fakeBody, fakeResponse } from '../../helpers/exchange.ts'

/** Creates a retry configuration: the built-in one, with changes. */
export const retryConfig = (more: Partial<RetryConfig> = {}): RetryConfig => ({
  attempts: 3,
  on: ['connect-failed', 'connect-timeout', 'tls-failed', 'reset-before-headers', 'bad-response', 502, 503, 504],
  backoff: { base: 25, max: 250 },
  budget: { share: 0.1, floor: 3 },
  ...more,
})

/** How one attempt ends: a status, a failure, or a response that asks to wait so many seconds. */
export type Step = number | FailureKind | Error | { readonly status: number; readonly retryAfter: string }

/** A handler that ends as scripted, with a record of its calls. */
export interface Scripted extends Handler {
  /** The time of each call. */
  readonly calls: number[]
  /** How often the body of each response was discarded, in the order of the responses. */
  readonly discards: number[]
}

/** Creates a handler that ends one call after the other as scripted, and repeats the last step. */
export const scripted = (...steps: readonly [Step, ...Step[]]): Scripted => {
  const calls: number[] = []
  const discards: number[] = []
  const respond = (status: number, fields: readonly string[]): ProxyResponse => {
    const index = discards.push(0) - 1
    const { body, ...head } = fakeResponse(status)
    const discard = (): void => {
      discards[index] = (discards[index] ?? 0) + 1
    }
    return { ...head, fields, body: { ...body, discard } }
  }
  const handler = async (exchange: Exchange): Promise<ProxyResponse> => {
    const step = steps[Math.min(calls.push(now()), steps.length) - 1] as Step
    // As the attempt sender does: an attempt that a breaker rejects reaches no endpoint.
    if (step !== 'circuit-open' && step !== 'overloaded') {
      exchange.attempts.count++
      exchange.attempts.wasSent ||= !(typeof step === 'string' && failureTable[step].retry === 'always')
    }
    if (step instanceof Error) throw step
    if (typeof step === 'string') throw new GatewayError(step)
    if (typeof step === 'number') return respond(step, [])
    return respond(step.status, ['Retry-After', step.retryAfter])
  }
  return Object.assign(handler, { calls, discards })
}

const begun = (length: number | null): FakeBody => {
  const body = fakeBody(length)
  body.begin()
  return body
}

/** The kinds of bodies: none, one that can be sent again, unsent or not, and one that streams, unread or started. */
export const bodies = {
  empty: () => fakeBody(0),
  replayable: () => fakeBody(10),
  sent: () => begun(10),
  unread: () => fakeBody(null),
  begun: () => begun(null),
} satisfies Record<string, () => FakeBody>

/** Creates a budget that always gives a token, and counts. */
export const plenty = () => {
  const counts = { requested: 0, taken: 0 }
  return {
    counts,
    requested: () => void counts.requested++,
    take: () => {
      counts.taken++
      return true
    },
  }
}
