import type { UpstreamConfig } from '../../config/config.ts'
import type { Exchange, Handler, ProxyResponse } from '../../exchange/exchange.ts'
import { allDrainingError, overloadedError } from '../../exchange/failures/errors.ts'
import { foldUnderscores } from '../../exchange/header-fields.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import { renderRequestHead } from '../http1/write-request.ts'
import { compileHeaderMutation } from './header-mutation.ts'
import { type SendOptions, UpstreamAttempt } from './upstream-attempt.ts'

/**
 * Compiles the sending of exchanges to one endpoint. The operation's method and path, raw query, end-to-end fields and
 * body go out as they came. The handler resolves at the head of the response. It rejects with every `upstream` kind of
 * {@link failureTable}, `overloaded`, and the reason of an abort. `onOutcome` is called with the outcome of each
 * attempt; null: this endpoint is not compared with others.
 */
export const createAttemptSender = (
  config: UpstreamConfig,
  endpoint: Endpoint,
  onOutcome: SendOptions['onOutcome'] = null,
  onFailure: SendOptions['onFailure'] = () => {},
): Handler => {
  const { host } = config
  const mutateRequest = compileHeaderMutation(config.request, foldUnderscores)
  const options: SendOptions = {
    headersTimeoutMs: config.timeouts.headers,
    bodyTimeoutMs: config.timeouts.body,
    mutateResponse: compileHeaderMutation(config.response),
    // No interim response says what the final one says otherwise, or not at all.
    mutateInterim: compileHeaderMutation({
      set: [],
      remove: [...config.response.remove, ...config.response.set.map(({ name }) => name)],
    }),
    onOutcome,
    onFailure,
    render: ({ operation, query, authority }, fields, isLast) =>
      renderRequestHead({
        method: operation.method,
        target: endpoint.pathPrefix + operation.path + query,
        host: hostToSend(host, authority) ?? endpoint.authority,
        keepAlive: config.keepAlive > 0 && !isLast,
        fields: mutateRequest === null ? fields : mutateRequest(fields),
      }),
  }
  const dispatch = (exchange: Exchange, body: readonly Buffer[] | null): Promise<ProxyResponse> =>
    new Promise((resolve, reject) => {
      if (exchange.aborted !== null) return reject(exchange.aborted)
      // Here, and not where it is selected: a body that was read first may have come after the order. An edit that
      // drains it, as one that takes it out, lets it finish what began before.
      if (endpoint.health.isDrainedByOrder) return reject(allDrainingError())
      // Before anything is made for it: a request over the limit must cost nothing.
      const reason = endpoint.pool.rejects(exchange)
      if (reason !== null) return reject(overloadedError(reason))
      const attempt = new UpstreamAttempt(exchange, endpoint, options, resolve, reject)
      attempt.start(body)
    })
  return (exchange) =>
    exchange.body.replayable ? exchange.body.read().then((body) => dispatch(exchange, body)) : dispatch(exchange, null)
}

const hostToSend = (host: UpstreamConfig['host'], authority: string): string | null => {
  if (host === 'endpoint') return null
  if (host !== 'client') return host.name
  return authority === '' ? null : authority // an HTTP/1.0 client may name none
}
