import type { Exchange, Handler, ProxyResponse } from '../../exchange/exchange.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { failureTable } from '../../exchange/failures/kinds.ts'
import type { EndpointSelector } from './endpoint-selector.ts'

/**
 * Sends an exchange to one of several endpoints. A request that could not be sent at all goes to another endpoint,
 * whatever the method: nothing of it has arrived anywhere, and its body is still whole. Each endpoint is tried once. An
 * exchange that is sent again for another reason (`retry`) goes to an untried endpoint while there is one, as in
 * Envoy's `previous_hosts` and HAProxy's `redispatch`. `noEndpoint` creates the failure of having none.
 */
export const failover = (selectEndpoint: EndpointSelector, noEndpoint: () => GatewayError): Handler => {
  const tryNext = (exchange: Exchange, error: unknown): Promise<ProxyResponse> => {
    const unsent = error instanceof GatewayError && failureTable[error.kind].retry === 'always'
    const member = unsent && exchange.aborted === null ? selectEndpoint(exchange.attemptOnSide, true) : null
    if (member === null) throw error
    return member.send(exchange).catch((nextError) => tryNext(exchange, nextError))
  }
  const tryFirst = (exchange: Exchange): Promise<ProxyResponse> => {
    const member = selectEndpoint(exchange.attemptOnSide, false)
    if (member === null) return Promise.reject(noEndpoint())
    return member.send(exchange).catch((error) => tryNext(exchange, error))
  }
  // A body that is read first is read before the selection: by then the selected endpoint might be full, or out.
  return (exchange) =>
    exchange.body.replayable ? exchange.body.read().then(() => tryFirst(exchange)) : tryFirst(exchange)
}
