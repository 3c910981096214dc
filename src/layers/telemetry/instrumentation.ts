import { now } from '../../clock.ts'
import type { Exchange, Layer } from '../../exchange.ts'
import type { Tracing } from '../../observe/tracing/tracing.ts'

/**
 * Tells clients how long it took until the answer's head (Server Timing §2): in the gateway, and at the upstream from the start of the last
 * attempt, as the access log does. No name of anything behind it. Outermost, so that all that made them wait is counted, and what the
 * gateway itself answers says so as well.
 */
export const serverTimingLayer: Layer = (next) => (exchange) => {
  const startedAt = now()
  return next(exchange).then(
    (response) => {
      addServerTiming(exchange, startedAt)
      return response
    },
    (error) => {
      addServerTiming(exchange, startedAt)
      throw error
    },
  )
}

const addServerTiming = (exchange: Exchange, startedAt: number): void => {
  const { attempt } = exchange
  const at = now()
  const upstreamMs = attempt === null ? null : (attempt.endedAt ?? at) - attempt.startedAt
  const gateway = `gateway;dur=${tenths(at - startedAt - (upstreamMs ?? 0))}`
  exchange.addedResponseFields ??= []
  exchange.addedResponseFields.push(
    'Server-Timing',
    upstreamMs === null ? gateway : `${gateway}, upstream;dur=${tenths(upstreamMs)}`,
  )
}

const tenths = (ms: number): string => (Math.round(Math.max(0, ms) * 10) / 10).toString()

/**
 * Gives each exchange its place in a trace. Outermost, so that what other layers refuse is told of as well, and none of them sees what a client
 * says of its trace otherwise than the upstream will. Its span is told by the recorder of that name, when the answer's body has ended.
 */
export const tracingLayer =
  (traces: Tracing): Layer =>
  (next) =>
  (exchange) => {
    exchange.trace = traces.startTrace(exchange)
    return next(exchange)
  }

/** Counts the exchanges of an operation that are in flight, from here to the last byte of the answer; bounds nothing. */
export const inFlightGaugeLayer = (gauge: { inFlight: number }): Layer => {
  const release = (): void => {
    gauge.inFlight--
  }
  return (next) => (exchange) => {
    gauge.inFlight++
    exchange.onFinished(release)
    return next(exchange)
  }
}
