import type { EndpointConfig, UpstreamConfig } from '../config/config.ts'
import type { Handle } from '../exchange.ts'
import { balance, type Member } from './balance.ts'
import type { Endpoint } from './endpoint.ts'
import { sender } from './send.ts'

/** Is a named set of interchangeable endpoints with one policy. */
export interface Upstream {
  /** Is the innermost handle. */
  readonly send: Handle
  readonly members: readonly Member[]
}

/** Builds an upstream; `open` finds the endpoint to a configured one, already open or new. */
export const openUpstream = (config: UpstreamConfig, open: (endpoint: EndpointConfig) => Endpoint): Upstream => {
  const members = config.endpoints.map((each) => ({ endpoint: open(each), weight: each.weight }))
  const send = sender(config)
  const [only] = members
  const pick = balance(members)
  return {
    members,
    send:
      members.length === 1 && only !== undefined
        ? (exchange) => send(exchange, only.endpoint)
        : (exchange) => send(exchange, pick()),
  }
}
