import type { Answer, Exchange, Handle, Layer } from '../exchange.ts'
import { GatewayError } from '../failures/errors.ts'
import { networkOf } from '../shared/limiter/address.ts'
import { isTaken, type Limiter, type Outcome } from '../shared/limiter/bucket.ts'
import { type LimitFields, limitFields } from '../shared/limiter/fields.ts'

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

/**
 * Limits how many requests come from one address, of IPv6 from one network. Before whatever costs more than counting: nobody guesses
 * keys or has signatures checked faster than this. Every answer says how much is left.
 */
export const addressLimit = (limiter: Limiter, ipv6Prefix: number): Layer => {
  const fields = limitFields(limiter.limit)

  const go = (outcome: Outcome, exchange: Exchange, next: Handle): Promise<Answer> => {
    exchange.answerFields = [...(exchange.answerFields ?? []), ...fields.of(outcome)]
    if (isTaken(outcome)) return next(exchange)
    return Promise.reject(
      new GatewayError('rate-limited', { reason: 'address-rate', fields: fields.whenRefused(outcome) }),
    )
  }

  return (next) => (exchange) => {
    const outcome = limiter.take(networkOf(exchange.client, ipv6Prefix))
    return typeof outcome === 'number'
      ? go(outcome, exchange, next)
      : outcome.then((answered) => go(answered, exchange, next))
  }
}
