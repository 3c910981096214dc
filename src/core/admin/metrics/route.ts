import type { FastifyInstance } from 'fastify'
import { insertBeside } from '../../lib/beside.ts'
import type { AdminContext } from '../admin-context.ts'
import { sendProblem } from '../admin-error.ts'
import { adminParts } from '../admin-parts.ts'
import { configurationMetrics, processMetrics, recordingMetrics, retiringMetrics } from './families/process.ts'
import { requestCounts, trafficMetrics } from './families/traffic.ts'
import { endpointMetrics, upstreamMetrics } from './families/upstreams.ts'
import { expositionContentType, type MetricDefinitions, renderExposition } from './metric.ts'
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

const definitions = insertBeside(
  {
    requests: requestCounts,
    traffic: trafficMetrics,
    endpoints: endpointMetrics,
    upstreams: upstreamMetrics,
    configuration: configurationMetrics,
    process: processMetrics,
    retiring: retiringMetrics,
    recording: recordingMetrics,
  },
  adminParts.flatMap(({ metrics = [] }) => metrics),
)

export const metricFamilies = definitions.flatMap(Object.entries<MetricDefinitions[string]>).map(([name, metric]) => ({
  name: `lender_gateway_${name}`,
  ...metric,
}))
