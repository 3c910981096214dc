import type { FastifyInstance } from 'fastify'
import type { Desk } from '../desk.ts'
import { sendProblem } from '../problem.ts'
import { contentType, exposition } from './exposition.ts'
import { auth } from './families/auth.ts'
import { cache } from './families/cache.ts'
import { configuration } from './families/configuration.ts'
import { limits } from './families/limits.ts'
import { processes } from './families/process.ts'
import { recording, spans } from './families/recording.ts'
import { traffic } from './families/traffic.ts'
import { upstreams } from './families/upstreams.ts'
import { expose, type Metric } from './metric.ts'
import { readingOf } from './reading.ts'

/** Answers Prometheus at `/metrics`, as far as the file has anything counted. */
export const registerMetrics = (app: FastifyInstance, desk: Desk): void => {
  app.get('/metrics', async (_, reply) => {
    const reading = await readingOf(desk)
    if (reading === null) return sendProblem(reply, off)
    return reply.type(contentType).send(exposition(families.map((metric) => expose(metric, reading))))
  })
}

const off = { status: 404, code: 'metrics-off', detail: 'the configuration says metrics: none, so nothing is counted' }

/** Lists every metric that there is, in the order of the answer. */
export const families: readonly Metric[] = [
  ...traffic,
  ...upstreams,
  ...cache,
  ...limits,
  ...auth,
  ...configuration,
  ...processes,
  ...recording,
  ...spans,
]
