import type { Answer, Exchange, Handle, Layer } from '../exchange.ts'
import { GatewayError } from '../failures/errors.ts'
import { networkOf } from '../shared/limiter/address.ts'
import { isTaken, type Outcome } from '../shared/limiter/bucket.ts'
import { limitFields } from '../shared/limiter/fields.ts'
import type { Limiter } from '../shared/limiter/limiter.ts'

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
