import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuse, wantsPage } from '../page/refusal.ts'
import { type Refusal, sendProblem } from '../problem.ts'
import { pathOf } from '../target.ts'
import { isAction } from './leave.ts'

/** Answers whoever is not let in: a person is sent to where one logs in, or reads why. */
export const turnAway = (request: FastifyRequest, reply: FastifyReply, refusal: Refusal): FastifyReply => {
  const path = pathOf(request.url)
  const isPage = path === '/' || path === '/login' || path === '/logout' || isAction(path)
  if (!isPage) return sendProblem(reply, refusal)
  const mayLogIn = refusal.status === 401 && wantsPage(request.headers)
  return mayLogIn && request.method === 'GET' ? reply.redirect('/login', 303) : refuse(request, reply, refusal)
}
