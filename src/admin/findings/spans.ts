import { type Finding, finding } from './finding.ts'
import type { Reading } from './reading.ts'

/** Finds why traces have gaps. */
export const spanFindings = ({ config: { tracing }, report: { meter } }: Reading): readonly Finding[] => {
  const trouble = meter?.spans.trouble ?? null
  if (typeof tracing?.otlp !== 'string' || trouble === null) return []
  const cause = `spans are lost: ${new URL(tracing.otlp).origin} does not take them (${trouble.reason}); requests are served all the same`
  return [finding('notice', 'tracing', cause, { since: trouble.since })]
}
