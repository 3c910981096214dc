import type { RequestMetricsReport } from '../../log/metrics/request-metrics.ts'
import { findDriftedFiles } from '../../runtime/reload/config-drift.ts'
import type { ReloadCount } from '../../runtime/reload/reload-history.ts'
import { type AdminContext, getNotReadyReason } from '../admin-context.ts'
import { collectFindingInputs, type FindingInputs } from '../findings/finding-inputs.ts'
import { listCertificates } from '../findings/gateway-findings.ts'

export interface MetricInputs extends FindingInputs {
  readonly requestMetrics: RequestMetricsReport
  readonly ready: boolean
  readonly reloads: readonly ReloadCount[]
  readonly certificates: readonly { readonly key: string; readonly notAfter: number }[]
}

export const collectMetricInputs = async (context: AdminContext): Promise<MetricInputs | null> => {
  const { reloader } = context
  // First, so all inputs are of one moment.
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
