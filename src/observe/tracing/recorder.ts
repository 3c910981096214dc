import type { Recorder } from '../recorder.ts'
import { SampledTrace } from './sampled-trace.ts'

/** Tells the span of each exchange that is sampled, from the facts that the access log has. */
export const spans: Recorder = {
  name: 'tracing',
  record(exchanged) {
    const { exchange } = exchanged
    if (exchange?.trace instanceof SampledTrace) exchange.trace.end(exchanged, exchange)
  },
}
