import type { Answer, Exchange, Handle, Layer } from '../exchange.ts'
import { GatewayError } from '../failures/errors.ts'
import type { ReasonOf } from '../failures/reasons.ts'
import { networkOf } from '../shared/limiter/address.ts'
import { isTaken, type Limiter, type Outcome } from '../shared/limiter/bucket.ts'
import { limitFields } from '../shared/limiter/fields.ts'

/** Counts the requests of one key, says in each answer how much is left, and rejects what exceeds the limit. */
const limited = (
  limiter: Limiter,
  reason: ReasonOf<'rate-limited'>,
  cause?: string,
): ((key: string, exchange: Exchange, next: Handle) => Promise<Answer>) => {
  const fields = limitFields(limiter.limit)
  const go = (outcome: Outcome, exchange: Exchange, next: Handle): Promise<Answer> => {
    exchange.answerFields = [...(exchange.answerFields ?? []), ...fields.of(outcome)]
    if (isTaken(outcome)) return next(exchange)
    return Promise.reject(new GatewayError('rate-limited', { reason, cause, fields: fields.whenRefused(outcome) }))
  }
  return (key, exchange, next) => {
    const outcome = limiter.take(key)
    return typeof outcome === 'number'
      ? go(outcome, exchange, next)
      : outcome.then((answered) => go(answered, exchange, next))
  }
}

/**
 * Limits how many requests one client sends, from wherever. Behind `auth`, so that nobody can use up what is another's, and what a client may
 * not call is not counted. `limiterOf` finds what counts a client; undefined: it may ask as often as it likes.
 */
export const clientLimit = (limiterOf: (client: string) => Limiter | undefined): Layer => {
  const known = new Map<Limiter, ReturnType<typeof limited>>()
  return (next) => (exchange) => {
    const client = exchange.identity?.client
    const limiter = client === undefined ? undefined : limiterOf(client)
    if (client === undefined || limiter === undefined) return next(exchange)
    let take = known.get(limiter)
    if (take === undefined) {
      take = limited(limiter, 'client-rate', 'the client asks too often')
      known.set(limiter, take)
    }
    return take(client, exchange, next)
  }
}

/**
 * Limits how many requests come from one address, of IPv6 from one network. Before whatever costs more than counting: nobody guesses
 * keys or has signatures checked faster than this. Every answer says how much is left.
 */
export const addressLimit = (limiter: Limiter, ipv6Prefix: number): Layer => {
  const take = limited(limiter, 'address-rate')
  return (next) => (exchange) => take(networkOf(exchange.client, ipv6Prefix), exchange, next)
}
