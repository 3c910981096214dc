import { type FindingSource, finding } from '../../core/admin/findings/finding.ts'

/** Finds why traces have gaps. */
export const tracingFindings: FindingSource = ({ config: { tracing }, report: { requestMetrics } }) => {
  const failure = requestMetrics?.spans.exportFailure ?? null
  if (typeof tracing?.otlp !== 'string' || failure === null) return []
  const facts = { ...failure, receiver: new URL(tracing.otlp).origin }
  return finding('spans-lost', 'notice', 'tracing', facts, ({ receiver, reason }) => [
    `spans are lost: ${receiver} does not take them (${reason}); requests are served all the same`,
  ])
}
