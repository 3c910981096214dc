import type { Exchange, Layer } from '../../core/exchange/exchange.ts'
import { now } from '../../core/lib/clock.ts'
import { roundToTenths } from '../../core/lib/text/units.ts'

/**
 * Tells clients how long the response's head took (Server Timing §2): in the gateway, and at the upstream from the
 * start of the last attempt, as the access log does. It names nothing behind the gateway. It is the outermost layer, so
 * that it counts everything that made the client wait, and the gateway's own responses have the field too.
 */
export const serverTimingLayer: Layer = (next) => (exchange) => {
  const startedAt = now()
  return next(exchange).finally(() => addServerTiming(exchange, startedAt))
}

const addServerTiming = (exchange: Exchange, startedAt: number): void => {
  const { upstreamMs } = exchange.attempts
  const gateway = `gateway;dur=${tenths(now() - startedAt - (upstreamMs ?? 0))}`
  exchange.addedResponseFields ??= []
  exchange.addedResponseFields.push(
    'Server-Timing',
    upstreamMs === null ? gateway : `${gateway}, upstream;dur=${tenths(upstreamMs)}`,
  )
}

const tenths = (ms: number): string => `${roundToTenths(Math.max(0, ms))}`
