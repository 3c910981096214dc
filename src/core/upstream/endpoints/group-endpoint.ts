import type { UpstreamConfig } from '../../config/config.ts'
import type { Exchange, Handler, ProxyResponse } from '../../exchange/exchange.ts'
import {
  type AttemptReport,
  allDrainingError,
  failureText,
  overloadedError,
  toAttemptReport,
} from '../../exchange/failures/errors.ts'
import { foldUnderscores } from '../../exchange/header-fields.ts'
import { type SendOptions, UpstreamAttempt } from '../attempt/upstream-attempt.ts'
import { type BalancerCandidate, slowStartShare } from '../balancing/balancers.ts'
import type { EndpointHealth } from '../health/endpoint-health.ts'
import { compileHeaderMutation, renderRequestHead } from '../http1/write-request.ts'
import type { Endpoint } from './endpoint.ts'

export interface GroupEndpointState {
  readonly name: 'up' | 'failing' | 'down' | 'ejected' | 'draining'
  readonly since: number | null
  readonly reason: string | null
}

export type DrainedBy = 'operator' | 'file'

interface GroupEndpointOptions extends Pick<SendOptions, 'onOutcome' | 'onFailure'> {
  readonly weight: number
  readonly drainedBy: DrainedBy | null
}

export class GroupEndpoint implements BalancerCandidate {
  readonly endpoint: Endpoint
  readonly name: string
  readonly health: EndpointHealth
  readonly weight: number
  /** Null: takes new work, unless the weight is 0. */
  readonly drainedBy: DrainedBy | null
  readonly send: Handler
  readonly #slowStartMs: number | null

  constructor(
    endpoint: Endpoint,
    config: UpstreamConfig,
    { weight, drainedBy, onOutcome, onFailure }: GroupEndpointOptions,
  ) {
    this.endpoint = endpoint
    this.name = endpoint.name
    this.health = endpoint.health
    this.weight = weight
    this.drainedBy = drainedBy
    this.#slowStartMs = config.slowStart
    this.send = createAttemptSender(config, endpoint, onOutcome, onFailure)
  }

  get inFlight(): number {
    return this.endpoint.inFlight
  }

  get receivesTraffic(): boolean {
    return this.drainedBy === null && this.weight > 0
  }

  get takesRequests(): boolean {
    return this.receivesTraffic && this.health.drainingSince === null
  }

  get state(): GroupEndpointState {
    const { down, unresolved, ejection } = this.health
    if (!this.receivesTraffic) return { name: 'draining', since: this.health.drainingSince, reason: null }
    const outage = down ?? unresolved
    if (outage !== null) return { name: 'down', since: outage.since, reason: outage.reason }
    if (ejection !== null && this.health.isEjected())
      return { name: 'ejected', since: ejection.since, reason: ejection.reason }
    const { isFailing, lastFailure } = this.health
    if (!isFailing || lastFailure === null) return { name: 'up', since: null, reason: null }
    return toFailingState(this.health, toAttemptReport(this.name, lastFailure))
  }

  weightAt(at: number): number {
    if (this.#slowStartMs === null) return this.weight
    const recoveredAt = this.health.recoveredAt(at)
    if (recoveredAt === null) return this.weight
    return this.weight * slowStartShare(at - recoveredAt, this.#slowStartMs)
  }

  latencyAt(at: number): number {
    return this.health.latency.at(at)
  }

  attemptsPerSuccessAt(at: number): number {
    return this.health.attemptsPerSuccessAt(at)
  }
}

export const toFailingState = (
  { failingSince, failuresInARow }: Pick<EndpointHealth, 'failingSince' | 'failuresInARow'>,
  { kind, reason, status }: AttemptReport,
): GroupEndpointState => {
  const last = kind === null ? `it responded with ${status}` : failureText(kind, reason)
  return {
    name: 'failing',
    since: failingSince,
    reason: `${failuresInARow} failures in a row, the last: ${last}`,
  }
}

const createAttemptSender = (
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
    // An interim response must not reveal what the final one changes or removes.
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
      // The operator's command may come while the body is read. A drain in the file lets earlier requests finish.
      if (endpoint.health.isDrainedByOperator) return reject(allDrainingError())
      // Before any allocation: a request over the limit must cost nothing.
      const reason = endpoint.pool.rejects(exchange)
      if (reason !== null) return reject(overloadedError(reason))
      new UpstreamAttempt(exchange, endpoint, options, resolve, reject).start(body)
    })
  return (exchange) =>
    exchange.body.replayable ? exchange.body.read().then((body) => dispatch(exchange, body)) : dispatch(exchange, null)
}

const hostToSend = (host: UpstreamConfig['host'], authority: string): string | null => {
  if (host === 'endpoint') return null
  if (host !== 'client') return host.name
  return authority === '' ? null : authority
}
