import type { Recorder } from '../recorder.ts'
import { SampledTrace } from './sampled-trace.ts'

/** Tells the span of each exchange that is sampled, from the facts that the access log has. */
export const spans: Recorder = {
  name: 'tracing',
  record(exchanged) {
    if (exchanged.trace instanceof SampledTrace) exchanged.trace.end(exchanged)
  },
}
