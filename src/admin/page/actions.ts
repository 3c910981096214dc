import type { FastifyInstance } from 'fastify'
import type { Orders } from '../carry-out.ts'
import type { Desk } from '../desk.ts'
import { isRefusal } from '../problem.ts'
import { formOf } from '../session/forms.ts'
import { visitorOf } from '../session/visitor.ts'
import { queryOf } from '../target.ts'
import { type Action, readSaid } from './actions/action.ts'
import { clearCache } from './actions/cache.ts'
import { confirmPage } from './actions/confirm.ts'
import { drain, ready } from './actions/endpoint.ts'
import { refuse as refuseOperation, serve } from './actions/operation.ts'
import { reload } from './actions/reload.ts'
import { rollback } from './actions/rollback.ts'
import { refuse } from './refusal.ts'
import { sendPage } from './send.ts'

const actions: readonly Action[] = [reload, rollback, drain, ready, refuseOperation, serve, clearCache]

/** Gives orders by pages: one that says what would happen, whose form has it done, and then the overview, which says what was. */
export const registerActions = (app: FastifyInstance, desk: Desk, orders: Orders): void => {
  for (const action of actions) {
    const target = `/actions/${action.name}`

    app.get(target, async (request, reply) => {
      const said = readSaid(action, new URLSearchParams(queryOf(request.url)))
      if (isRefusal(said)) return refuse(request, reply, said)
      const question = await action.ask(desk, said)
      if (isRefusal(question)) return refuse(request, reply, question)
      return sendPage(reply, 200, confirmPage(action, said, question, visitorOf(request)))
    })

    app.post(target, async (request, reply) => {
      const form = formOf(request)
      if (isRefusal(form)) return refuse(request, reply, form)
      const said = readSaid(action, form)
      if (isRefusal(said)) return refuse(request, reply, said)
      const done = await action.act(orders, said)
      if (typeof done !== 'string') return refuse(request, reply, done)
      visitorOf(request).note(done)
      return reply.redirect('/', 303)
    })
  }
}
