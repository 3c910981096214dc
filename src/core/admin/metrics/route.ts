import type { FastifyInstance } from 'fastify'
import { authMetrics } from '../../../features/auth/metrics.ts'
import { candidateMetrics, comparisonMetrics, shadowMetrics } from '../../../features/candidate/metrics.ts'
import { contractMetrics } from '../../../features/contract/metrics.ts'
import { idempotencyMetrics } from '../../../features/idempotency/metrics.ts'
import { cacheMetrics, limitMetrics } from '../../../features/limits/metrics.ts'
import type { AdminContext } from '../admin-context.ts'
import { sendProblem } from '../admin-error.ts'
import { configurationMetrics, processMetrics, recordingMetrics } from './families/process.ts'
import { trafficMetrics } from './families/traffic.ts'
import { upstreamMetrics } from './families/upstreams.ts'
import { expositionContentType, renderExposition } from './metric.ts'
import { collectMetricInputs } from './metric-inputs.ts'

export const registerMetricsRoute = (app: FastifyInstance, context: AdminContext): void => {
  app.get('/metrics', async (_, reply) => {
    const inputs = await collectMetricInputs(context)
    if (inputs === null) return sendProblem(reply, metricsOff)
    const exposed = metricFamilies.map((metric) => ({ ...metric, samples: metric.read(inputs) }))
    return reply.type(expositionContentType).send(renderExposition(exposed))
  })
}

const metricsOff = {
  status: 404,
  code: 'metrics-off',
  detail: 'the configuration says metrics: none, so nothing is counted',
}

const definitions = {
  ...trafficMetrics,
  ...upstreamMetrics,
  ...shadowMetrics,
  ...comparisonMetrics,
  ...candidateMetrics,
  ...cacheMetrics,
  ...idempotencyMetrics,
  ...contractMetrics,
  ...limitMetrics,
  ...authMetrics,
  ...configurationMetrics,
  ...processMetrics,
  ...recordingMetrics,
}

export const metricFamilies = Object.entries(definitions).map(([name, metric]) => ({
  name: `lender_gateway_${name}`,
  ...metric,
}))
