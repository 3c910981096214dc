import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../../observe/log.ts'
import type { Desk } from '../desk.ts'
import { refuse, wantsPage } from '../page/refusal.ts'
import { sendPage } from '../page/send.ts'
import { isRefusal, type Refusal, sendProblem } from '../problem.ts'
import { isSame } from '../same.ts'
import { queryOf } from '../target.ts'
import { Attempts } from './attempts.ts'
import { cookieFor, noCookieFor } from './cookie.ts'
import { formOf } from './forms.ts'
import { loginPage, noLoginPage } from './login-page.ts'
import { isPrivate } from './private.ts'
import { type Sessions, sessionMs } from './sessions.ts'
import { visitorOf } from './visitor.ts'

/** Lets operators log in by a form, and out again. */
export const registerLogin = (app: FastifyInstance, { reloader, audit }: Desk, log: Log, sessions: Sessions): void => {
  const attempts = new Attempts()

  app.get('/login', async (request, reply) => {
    const { admin } = reloader.config
    if (admin.token === null || visitorOf(request).session !== null) return reply.redirect('/', 303)
    if (!isPrivate(request.socket)) return sendPage(reply, noLogin.status, noLoginPage())
    const isLost = queryOf(request.url) === 'done'
    return sendPage(reply, 200, loginPage(visitorOf(request), isLost ? cookieLost : null))
  })

  app.post('/login', async (request, reply) => {
    const { admin, hash: config } = reloader.config
    if (admin.token === null) return reply.redirect('/', 303)
    if (!isPrivate(request.socket)) return refuse(request, reply, noLogin)
    const form = formOf(request)
    if (isRefusal(form)) return again(request, reply, form)
    const retryAfter = attempts.take()
    if (retryAfter !== null) return again(request, reply, tooMany(retryAfter))
    if (!isSame((form.get('token') ?? '').trim(), admin.token)) {
      log.warn({ client: request.ip }, 'login refused')
      audit.tell('login refused', { address: request.ip, config })
      return again(request, reply, wrongToken)
    }
    sessions.end(visitorOf(request))
    const { id, visitor } = sessions.open(admin.token)
    log.info({ client: request.ip, session: visitor.session }, 'login')
    audit.tell('login', { session: visitor.session, address: request.ip, config })
    return reply.header('Set-Cookie', cookieFor(request.headers, id, sessionMs)).redirect('/login?done', 303)
  })

  app.post('/logout', async (request, reply) => {
    const form = formOf(request)
    if (isRefusal(form)) return refuse(request, reply, form)
    const { session } = visitorOf(request)
    if (session !== null) {
      sessions.end(visitorOf(request))
      log.info({ client: request.ip, session }, 'logout')
      audit.tell('logout', { session, address: request.ip, config: reloader.config.hash })
    }
    return reply.header('Set-Cookie', noCookieFor(request.headers)).redirect('/login', 303)
  })
}

/** Shows the form once more, with the reason. */
const again = (request: FastifyRequest, reply: FastifyReply, refusal: Refusal): FastifyReply =>
  wantsPage(request.headers)
    ? sendPage(reply.headers(refusal.fields ?? {}), refusal.status, loginPage(visitorOf(request), refusal.detail))
    : sendProblem(reply, refusal)

const noLogin: Refusal = {
  status: 403,
  code: 'no-login',
  detail:
    'others on the network could read a token that is sent here, because this connection has no TLS and does not come by loopback: use a tunnel to 127.0.0.1, or set admin.tls',
}

/** Says why one who has just logged in is here again: whoever has the cookie is sent on from here to the overview. */
const cookieLost =
  'the token was right, but the browser has not kept the cookie of the session: it keeps one that comes by https, or from localhost or 127.0.0.1'

const wrongToken: Refusal = { status: 403, code: 'wrong-token', detail: 'this is not admin.token' }

const tooMany = (seconds: number): Refusal => ({
  status: 429,
  code: 'too-many-attempts',
  detail: `too many attempts: try again in ${seconds === 1 ? 'a second' : `${seconds} seconds`}`,
  fields: { 'Retry-After': `${seconds}` },
})
