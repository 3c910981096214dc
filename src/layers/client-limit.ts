import type { Answer, Exchange, Handle, Layer } from '../exchange.ts'
import { GatewayError } from '../failures/errors.ts'
import { isTaken, type Outcome } from '../shared/limiter/bucket.ts'
import { type LimitFields, limitFields } from '../shared/limiter/fields.ts'
import type { Limiter } from '../shared/limiter/limiter.ts'

/** Is what counts a client's requests, with what its answers say of that. */
interface Counter {
  readonly limiter: Limiter
  readonly fields: LimitFields
}

/**
 * Limits how many requests one client sends, from wherever. Behind `auth`, so that nobody can use up what is another's, and what a client may
 * not call is not counted. `limiterOf` finds what counts a client; undefined: it may ask as often as it likes.
 */
export const clientLimit = (limiterOf: (client: string) => Limiter | undefined): Layer => {
  const counters = new Map<Limiter, Counter>()
  const counterOf = (limiter: Limiter): Counter => {
    const known = counters.get(limiter)
    if (known !== undefined) return known
    const counter = { limiter, fields: limitFields(limiter.limit) }
    counters.set(limiter, counter)
    return counter
  }

  const go = (outcome: Outcome, fields: LimitFields, exchange: Exchange, next: Handle): Promise<Answer> => {
    exchange.answerFields = [...(exchange.answerFields ?? []), ...fields.of(outcome)]
    if (isTaken(outcome)) return next(exchange)
    const why = 'the client asks too often'
    const whenRefused = fields.whenRefused(outcome)
    return Promise.reject(new GatewayError('rate-limited', { reason: 'client-rate', cause: why, fields: whenRefused }))
  }

  return (next) => (exchange) => {
    const client = exchange.identity?.client
    const found = client === undefined ? undefined : limiterOf(client)
    if (client === undefined || found === undefined) return next(exchange)
    const { limiter, fields } = counterOf(found)
    const outcome = limiter.take(client)
    return typeof outcome === 'number'
      ? go(outcome, fields, exchange, next)
      : outcome.then((answered) => go(answered, fields, exchange, next))
  }
}
