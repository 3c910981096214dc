import type { Layer } from '../exchange.ts'
import { GatewayError } from '../failures/errors.ts'

/**
 * Bounds how many exchanges one client has in flight, which `inFlight` counts by its id; null: it has no bound. 429 and not 503, because the client is the one that can do something
 * about it, and the gateway has room: operators who count 5xx would be woken by a client that does too much at once. One counts until the last byte
 * of its answer has been taken.
 */
export const clientConcurrency = (boundOf: (client: string) => number | null, inFlight: Map<string, number>): Layer => {
  const leave = (client: string): void => {
    const left = (inFlight.get(client) ?? 1) - 1
    if (left > 0) inFlight.set(client, left)
    else inFlight.delete(client)
  }
  return (next) => (exchange) => {
    const client = exchange.identity?.client
    const bound = client === undefined ? null : boundOf(client)
    if (client === undefined || bound === null) return next(exchange)
    const count = inFlight.get(client) ?? 0
    if (count >= bound) return Promise.reject(tooMany())
    inFlight.set(client, count + 1)
    exchange.whenOver(() => leave(client))
    return next(exchange)
  }
}

/** Whole seconds, and 1 is the least that says anything (RFC 9110 §10.2.3): when one of its own ends, only the client knows. */
const tooMany = (): GatewayError =>
  new GatewayError('rate-limited', {
    reason: 'client-concurrency',
    cause: 'the client has too many in flight',
    fields: ['Retry-After', '1'],
  })
