import type { FastifyInstance } from 'fastify'
import type { Desk } from '../desk.ts'
import { sendProblem } from '../problem.ts'
import { auth } from './families/auth.ts'
import { cache, limits } from './families/limits.ts'
import { configuration, processes, recording } from './families/process.ts'
import { traffic } from './families/traffic.ts'
import { upstreams } from './families/upstreams.ts'
import { contentType, exposition } from './metric.ts'
import { readingOf } from './reading.ts'

/** Answers Prometheus at `/metrics`, as far as the file has anything counted. */
export const registerMetrics = (app: FastifyInstance, desk: Desk): void => {
  app.get('/metrics', async (_, reply) => {
    const reading = await readingOf(desk)
    if (reading === null) return sendProblem(reply, off)
    const exposed = families.map((metric) => ({ ...metric, samples: metric.read(reading) }))
    return reply.type(contentType).send(exposition(exposed))
  })
}

const off = { status: 404, code: 'metrics-off', detail: 'the configuration says metrics: none, so nothing is counted' }

const all = { ...traffic, ...upstreams, ...cache, ...limits, ...auth, ...configuration, ...processes, ...recording }

/** Lists every metric that there is, in the order of the answer. */
export const families = Object.entries(all).map(([name, metric]) => ({ name: `lender_gateway_${name}`, ...metric }))
