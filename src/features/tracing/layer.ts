import type { Layer } from '../../core/exchange/exchange.ts'
import type { Tracing } from './tracing.ts'

/**
 * Gives each exchange its place in a trace. It is the outermost layer: the trace also covers what other layers reject,
 * and they see the client's trace fields as the upstream will. The observer of tracing ends the span when the
 * response's body has ended.
 */
export const tracingLayer =
  (traces: Tracing): Layer =>
  (next) =>
  (exchange) => {
    exchange.trace = traces.startTrace(exchange)
    return next(exchange)
  }
