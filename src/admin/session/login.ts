import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { now } from '../../clock.ts'
import { isLoopback } from '../../config/reach.ts'
import type { Log } from '../../observe/log.ts'
import { type Bucket, isTaken, type Limit, nextInMs, takeOf } from '../../shared/limiter/bucket.ts'
import type { Desk } from '../desk.ts'
import { isSame } from '../guard.ts'
import { type Html, html } from '../page/html.ts'
import { layout, refuse, sendPage, sentence, wantsPage } from '../page/send.ts'
import { isRefusal, type Refusal, sendProblem } from '../problem.ts'
import { queryOf } from '../target.ts'
import {
  cookieFor,
  formOf,
  formTokenField,
  noCookieFor,
  type Sessions,
  sessionMs,
  type Visitor,
  visitorOf,
} from './sessions.ts'

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

// A person mistypes now and then. Of all who try together, because an address costs whoever guesses nothing.
const limit: Limit = { policy: 'login', perMs: 2 / 1000, burst: 5 }

/** Counts attempts at logging in, of all who try. */
export class Attempts {
  readonly #bucket: Bucket = { used: 0, at: now() }

  /** Takes one; tells after how many seconds another may be made (null: this one may). */
  take(): number | null {
    const outcome = takeOf(this.#bucket, limit, now())
    return isTaken(outcome) ? null : Math.ceil(nextInMs(outcome, limit) / 1000)
  }
}

/** What is known of a connection: a socket of Node's has it. */
interface Connection {
  readonly encrypted?: boolean
  readonly localAddress?: string | undefined
  readonly remoteAddress?: string | undefined
}

/**
 * Says whether what a browser sends on a connection, a token and a cookie among it, stays unread on its way: TLS, or
 * loopback at both ends. The connection decides, not the address that the listener binds: `kubectl port-forward` and
 * `ssh -L` carry it over their own encrypted one, and open it on the loopback of the pod or machine. Both ends, because
 * a sidecar of a service mesh brings what came over the network from 127.0.0.6 to the address of the pod. Not handled:
 * a proxy on the same loopback that itself takes plain HTTP.
 */
export const isPrivate = ({ encrypted = false, localAddress, remoteAddress }: Connection): boolean =>
  encrypted || [localAddress, remoteAddress].every((address) => address !== undefined && isLoopback(address))

/** Shows the form that one logs in by, and why the last try was none. */
const loginPage = (visitor: Visitor, reason: string | null): Html =>
  layout({
    title: 'Log in',
    body: html`<h1>Log in</h1>
${reason === null ? null : html`<p role="alert">${sentence(reason)}</p>\n`}<form method="post" action="/login">
${formTokenField(visitor)}
<p><label for="token">Token of the operators (<code>admin.token</code>)</label>
<input type="password" id="token" name="token" autocomplete="current-password" required autofocus></p>
<p><button type="submit">Log in</button></p>
</form>
<p>A session lasts 30 minutes. Scripts send the token as <code>Authorization: Bearer</code> instead.</p>`,
  })

/** Says why nobody can log in here, and what to do. */
const noLoginPage = (): Html =>
  layout({
    title: 'No login here',
    body: html`<h1>No login here</h1>
<p>This connection comes over the network and has no TLS. Others on the way could read the token that you type, or the session that you get
for it, so neither is taken from a browser.</p>
<p>One of these helps:</p>
<ul>
<li>Come by a tunnel, which ends on this machine's own loopback: <code>kubectl port-forward POD 9901</code>, or
<code>ssh -L 9901:127.0.0.1:9901 HOST</code>. Then open <code>http://localhost:9901/</code>.</li>
<li>Set <code>admin.tls</code>, restart the gateway, and come back by <code>https://</code>.</li>
</ul>
<p>The commands of the gateway show the same, such as <code>status</code>.</p>`,
  })
