import type { Answer, Exchange, Handle } from '../exchange.ts'
import { GatewayError } from '../failures/errors.ts'
import { failures } from '../failures/kinds.ts'
import type { Choose } from './choose.ts'

/**
 * Sends an exchange to one of several endpoints. What could not be sent at all goes to another, whatever the method:
 * nothing of it has arrived anywhere, and its body is still whole. Each is tried once. An exchange that is sent again
 * for another reason (`retry`) goes to one that it has not tried while there is one, as Envoy's `previous_hosts` and
 * HAProxy's `redispatch` have it. `nobody` makes the failure of having none.
 */
export const failover = (choose: Choose, nobody: () => GatewayError): Handle => {
  const next = (exchange: Exchange, error: unknown): Promise<Answer> => {
    const unsent = error instanceof GatewayError && failures[error.kind].retry === 'always'
    const member = unsent && exchange.aborted === null ? choose(exchange.attempt, true) : null
    if (member === null) throw error
    return member.send(exchange).catch((again) => next(exchange, again))
  }
  const begin = (exchange: Exchange): Promise<Answer> => {
    const member = choose(exchange.attempt, false)
    if (member === null) return Promise.reject(nobody())
    return member.send(exchange).catch((error) => next(exchange, error))
  }
  // A body that is read first is read before the choice: by then the one that was chosen might be full, or out.
  return (exchange) => (exchange.body.replayable ? exchange.body.read().then(() => begin(exchange)) : begin(exchange))
}
