import { type MetricDefinitions, seriesFor } from '../../core/admin/metrics/metric.ts'

const span = seriesFor(['outcome'], ({ requestMetrics: { spans } }) => [
  ['exported', spans.exported],
  ['dropped', spans.dropped],
  ['failed', spans.failed],
])

export const tracingMetrics: MetricDefinitions = {
  spans_total: span.counter(
    'Spans of traces, by what became of them: taken by the receiver (exported), never sent, for want of room or because the receiver was no longer used (dropped), or sent and not taken (failed).',
  ),
}
