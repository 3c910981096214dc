import type { Layer } from '../exchange.ts'
import type { Tracing } from '../observe/tracing/tracing.ts'

/**
 * Gives each exchange its place in a trace. Outermost, so that what other layers refuse is told of as well, and none of them sees what a client
 * says of its trace otherwise than the upstream will. Its span is told by the recorder of that name, when the answer's body has ended.
 */
export const tracing =
  (traces: Tracing): Layer =>
  (next) =>
  (exchange) => {
    exchange.trace = traces.begin(exchange)
    return next(exchange)
  }
