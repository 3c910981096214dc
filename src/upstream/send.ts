import type { UpstreamConfig } from '../config/config.ts'
import type { Answer, Exchange, Handle } from '../exchange.ts'
import { overloaded } from '../failures/errors.ts'
import { withTwins } from '../fields.ts'
import type { Endpoint } from './endpoint.ts'
import { edit, type Manner, Sending } from './sending.ts'
import { requestHead } from './write-request.ts'

/**
 * Compiles the sending of exchanges to one endpoint. Method, catalog path, raw query, end-to-end fields and body go out as they came. The
 * answer is resolved at its head. Throws every `upstream` kind of the table of failures, `overloaded`, and the reason of an abort. `watch`
 * hears what became of each; null: nobody compares this endpoint with others.
 */
export const sender = (
  config: UpstreamConfig,
  endpoint: Endpoint,
  watch: Manner['watch'] = null,
  onFailure: Manner['onFailure'] = () => {},
): Handle => {
  const { host } = config
  const editRequest = edit(config.request, withTwins)
  const manner: Manner = {
    headersTimeoutMs: config.timeouts.headers,
    bodyTimeoutMs: config.timeouts.body,
    editAnswer: edit(config.response),
    // What the final answer says otherwise or not at all, no interim one says before it.
    editInterim: edit({ set: [], remove: [...config.response.remove, ...config.response.set.map(({ name }) => name)] }),
    watch,
    onFailure,
    render: ({ operation, query, authority }, fields) =>
      requestHead({
        method: operation.method,
        target: endpoint.pathPrefix + operation.path + query,
        host: hostToSend(host, authority) ?? endpoint.authority,
        keepAlive: config.keepAlive > 0,
        fields: editRequest === null ? fields : editRequest(fields),
      }),
  }
  const dispatch = (exchange: Exchange, body: readonly Buffer[] | null): Promise<Answer> =>
    new Promise((resolve, reject) => {
      if (exchange.aborted !== null) return reject(exchange.aborted)
      // Before anything is made for it: what is over the bound must cost nothing.
      if (endpoint.connections.isFull) return reject(overloaded('endpoint-connections'))
      const sending = new Sending(exchange, endpoint, manner, resolve, reject)
      sending.begin(body)
    })
  return (exchange) =>
    exchange.body.replayable ? exchange.body.read().then((body) => dispatch(exchange, body)) : dispatch(exchange, null)
}

const hostToSend = (host: UpstreamConfig['host'], authority: string): string | null => {
  if (host === 'endpoint') return null
  if (host !== 'client') return host.name
  return authority === '' ? null : authority // an HTTP/1.0 client may name none
}
