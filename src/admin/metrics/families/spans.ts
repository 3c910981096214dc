import { counter, type Metric } from '../metric.ts'

/** Says what became of the spans that were to be sent. */
export const spans: readonly Metric[] = [
  counter(
    'spans_total',
    'Spans of traces, by what became of them: taken by the receiver (exported), never sent for want of room (dropped), or sent and not taken (failed).',
    ['outcome'],
    ({ meter }) => [
      ['exported', meter.spans.exported],
      ['dropped', meter.spans.dropped],
      ['failed', meter.spans.failed],
    ],
  ),
]
