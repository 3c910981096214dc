import { failures, GatewayError } from '../errors.ts'
import type { Answer, Exchange, Handle } from '../exchange.ts'
import type { Choose } from './choose.ts'
import type { Member } from './member.ts'

/**
 * Sends an exchange to one of several endpoints. What could not be sent at all goes to another, whatever the method: nothing of it has
 * arrived anywhere, and its body is still whole. Each is tried once. `nobody` makes the failure of having none.
 */
export const failover = (choose: Choose, nobody: () => GatewayError): Handle => {
  const first: readonly Member[] = []
  const next = async (exchange: Exchange, tried: readonly Member[], error: unknown): Promise<Answer> => {
    const unsent = error instanceof GatewayError && failures[error.kind].retry === 'always'
    const member = unsent && exchange.aborted === null ? choose(tried) : null
    if (member === null) throw error
    return member.send(exchange).catch((again) => next(exchange, [...tried, member], again))
  }
  const begin = (exchange: Exchange): Promise<Answer> => {
    const member = choose(first)
    if (member === null) return Promise.reject(nobody())
    return member.send(exchange).catch((error) => next(exchange, [member], error))
  }
  // A body that is read first is read before the choice: by then the one that was chosen might be full, or out.
  return (exchange) => (exchange.body.replayable ? exchange.body.read().then(() => begin(exchange)) : begin(exchange))
}
