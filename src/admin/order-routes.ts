import type { FastifyInstance, FastifyReply } from 'fastify'
import { changedGroups } from '../config/diff.ts'
import type { Outcome } from '../snapshot/reloader.ts'
import { type Orders, refusalOf } from './carry-out.ts'
import { isRefusal, sendProblem } from './problem.ts'
import { queryOf } from './target.ts'

/** Takes orders as scripts give them: a method, a target and JSON. */
export const registerOrders = (app: FastifyInstance, orders: Orders): void => {
  app.delete('/cache', async ({ url }, reply) => answer(reply, await orders.clear(queryOf(url))))
  app.post('/reload', async ({ url }, reply) => {
    const query = queryOf(url)
    if (query !== '' && !forced.has(query)) return sendProblem(reply, notForce)
    return sendOutcome(reply, await orders.reload(query !== ''))
  })
  app.post('/rollback', async (_, reply) => {
    const outcome = await orders.rollback()
    return isRefusal(outcome) ? sendProblem(reply, outcome) : sendOutcome(reply, outcome)
  })
  for (const state of ['refuse', 'serve'] as const)
    app.post(`/operations/${state}`, async ({ body }, reply) =>
      answer(reply, await orders.operation(state, text(body))),
    )
  for (const state of ['drain', 'ready'] as const)
    app.post(`/endpoints/${state}`, async ({ body }, reply) => answer(reply, await orders.endpoint(state, text(body))))
}

const text = (body: unknown): string => (typeof body === 'string' ? body : '')

const answer = (reply: FastifyReply, done: object): FastifyReply =>
  isRefusal(done) ? sendProblem(reply, done) : reply.send(done)

const sendOutcome = (reply: FastifyReply, outcome: Outcome): FastifyReply =>
  outcome.result === 'refused'
    ? sendProblem(reply, refusalOf(outcome))
    : reply.send({ ...outcome, groups: changedGroups(outcome.changes) })

// What skips a safeguard is said in so many words: `force=0` would mean the contrary to whoever writes it.
const forced: ReadonlySet<string> = new Set(['force', 'force=', 'force=true'])
const notForce = {
  status: 400,
  code: 'bad-request',
  detail: '/reload takes ?force or ?force=true and nothing else; nothing was read',
}
