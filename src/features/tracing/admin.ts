import type { DescribedField, DescribeOperation, PlacedFindings, PlacedMetrics } from '../../core/admin/admin-part.ts'
import { finding } from '../../core/admin/findings/finding.ts'
import type { FindingSource } from '../../core/admin/findings/finding-inputs.ts'
import { type MetricDefinitions, seriesFor } from '../../core/admin/metrics/metric.ts'

const tracingFindings: FindingSource = ({ config: { tracing }, report: { spans } }) => {
  const failure = spans?.exportFailure ?? null
  if (typeof tracing?.otlp !== 'string' || failure === null) return []
  const facts = { ...failure, receiver: new URL(tracing.otlp).origin }
  return finding('spans-lost', 'notice', 'tracing', facts, ({ receiver, reason }) => [
    `spans are lost: ${receiver} does not accept them (${reason}); requests are still served`,
  ])
}

const span = seriesFor(['outcome'], ({ report: { spans } }) =>
  spans === null
    ? []
    : [
        ['exported', spans.exported],
        ['dropped', spans.dropped],
        ['failed', spans.failed],
      ],
)

const tracingMetrics: MetricDefinitions = {
  spans_total: span.counter('Spans of traces: exported, dropped before sending, or failed.'),
}

export const findings: readonly PlacedFindings[] = [{ after: 'configuration', value: tracingFindings }]

export const metrics: readonly PlacedMetrics[] = [{ after: 'recording', value: tracingMetrics }]

const serverTiming: DescribedField = {
  layer: 'server-timing',
  field: 'Server-Timing',
  component: 'ServerTiming',
  header: {
    description: 'How long the head of the response took: in the gateway, and at the upstream.',
    schema: { type: 'string' },
  },
}

const describe: DescribeOperation = (_, { tracing }) => (tracing?.serverTiming ? { fields: [serverTiming] } : {})

export const loadOpenApi = async () => ({ describe })
