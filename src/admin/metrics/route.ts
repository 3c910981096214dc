import type { FastifyInstance } from 'fastify'
import type { Desk } from '../desk.ts'
import { sendProblem } from '../problem.ts'
import { contentType, exposition } from './exposition.ts'
import { families } from './families.ts'
import { expose } from './metric.ts'
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
