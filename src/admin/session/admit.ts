import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AdminConfig } from '../../config/config.ts'
import { guard, isAction } from '../guard.ts'
import { refuse, wantsPage } from '../page/send.ts'
import { type Refusal, sendProblem } from '../problem.ts'
import { pathOf } from '../target.ts'
import { isFrom, type Sessions } from './sessions.ts'

/**
 * Lets a request in (null), or says why not, and notes who sends it. Whatever is kept open asks again and again: a session ends, a token is
 * replaced.
 */
export const admit = (
  { method, url, headers, raw }: FastifyRequest,
  sessions: Sessions,
  admin: AdminConfig,
): Refusal | null => {
  const visitor = sessions.of(headers, admin.token)
  isFrom(raw, visitor)
  return guard({ method, path: pathOf(url), headers, hasSession: visitor.session !== null }, admin)
}

/** Answers whoever is not let in: a person is sent to where one logs in, or reads why. */
export const turnAway = (request: FastifyRequest, reply: FastifyReply, refusal: Refusal): FastifyReply => {
  const path = pathOf(request.url)
  const isPage = path === '/' || path === '/login' || path === '/logout' || isAction(path)
  if (!isPage) return sendProblem(reply, refusal)
  const mayLogIn = refusal.status === 401 && wantsPage(request.headers)
  return mayLogIn && request.method === 'GET' ? reply.redirect('/login', 303) : refuse(request, reply, refusal)
}
