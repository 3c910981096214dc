import { within } from '../clock.ts'
import type { UpstreamConfig } from '../config/config.ts'
import { GatewayError } from '../errors.ts'
import type { Handle } from '../exchange.ts'
import { balance } from './balance.ts'
import { Endpoint } from './endpoint.ts'
import { sender } from './send.ts'

/** Is a named set of interchangeable endpoints with one policy. */
export interface Upstream {
  /** Is the innermost handle. */
  readonly send: Handle
  readonly endpoints: readonly Endpoint[]
  /** Finishes what runs, then closes every connection. */
  close(): Promise<void>
  /** Cuts every connection. */
  destroy(reason: Error): Promise<void>
}

/** Builds an upstream; `sandboxOrigin` is where the embedded upstream listens. */
export const openUpstream = (config: UpstreamConfig, sandboxOrigin: string | null): Upstream => {
  const endpoints = config.endpoints.map(
    (endpoint) =>
      new Endpoint(endpoint, endpoint.origin === 'sandbox' ? (sandboxOrigin ?? '') : endpoint.origin, config),
  )
  const send = sender(config)
  const [only] = endpoints
  const pick = balance(endpoints)
  return {
    endpoints,
    send:
      endpoints.length === 1 && only !== undefined
        ? (exchange) => send(exchange, only)
        : (exchange) => send(exchange, pick()),
    close: async () => void (await Promise.all(endpoints.map((endpoint) => endpoint.close()))),
    destroy: async (reason) => void (await Promise.all(endpoints.map((endpoint) => endpoint.destroy(reason)))),
  }
}

/** Closes an upstream, and after `deadlineMs` cuts what still runs. */
export const retire = async (upstream: Upstream, deadlineMs: number): Promise<void> => {
  const closed = await within(deadlineMs, upstream.close())
  if (!closed) await upstream.destroy(new GatewayError('internal', { cause: new Error('shut down') }))
}
