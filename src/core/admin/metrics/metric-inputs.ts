import { findDriftedFiles } from '../../runtime/reload/config-drift.ts'
import type { StatusReport } from '../../runtime/status/status-part.ts'
import type { AdminContext } from '../admin-context.ts'
import { adminParts } from '../admin-parts.ts'
import { getNotReadyReason } from '../api/readiness.ts'
import { collectOwnInputs, type FindingInputs } from '../findings/finding-inputs.ts'
import { listCertificates } from '../findings/gateway-findings.ts'
import type { MetricInputs } from './metric.ts'

export const collectFindingInputs = (
  context: AdminContext,
  report: StatusReport,
  drifted: readonly string[],
): FindingInputs =>
  Object.assign(
    collectOwnInputs(context, report, drifted, adminParts),
    ...adminParts.map((part) => part.findingInputs?.(context, report)),
  )

export const collectMetricInputs = async (context: AdminContext): Promise<MetricInputs | null> => {
  const { reloader } = context
  // Awaited first, so that all inputs are of one moment.
  const [drifted, report] = await Promise.all([findDriftedFiles(reloader), context.report()])
  const { config, history } = reloader
  const { requestMetrics } = report
  if (config.metrics === null || requestMetrics === null) return null
  return {
    ...collectFindingInputs(context, report, drifted),
    requestMetrics,
    ready: getNotReadyReason(context) === null,
    reloads: history.counts,
    certificates: listCertificates(config),
  }
}
