import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AttemptThrottle, tooManyAttempts } from '../../../core/admin/access/attempt-throttle.ts'
import type { OperatorProofs } from '../../../core/admin/access/operator-tokens.ts'
import { findOperatorToken, listOperatorTokens } from '../../../core/admin/access/operator-tokens.ts'
import { getPrincipal, type Principal } from '../../../core/admin/access/principal.ts'
import type { AdminContext } from '../../../core/admin/admin-context.ts'
import { type AdminError, isAdminError, sendProblem } from '../../../core/admin/admin-error.ts'
import { spellDuration } from '../../../core/admin/commands/phrases.ts'
import { type Html, html } from '../../../core/admin/html.ts'
import { targetQuery } from '../../../core/admin/url.ts'
import type { AdminConfig } from '../../../core/config/config.ts'
import { isLoopbackHost } from '../../../core/lib/net/addresses.ts'
import { includesScope } from '../../../core/lib/operators.ts'
import type { Log } from '../../../core/log/log.ts'
import {
  acceptsHtml,
  csrfTokenField,
  parseForm,
  renderLayout,
  sendAdminError,
  sendPage,
  toSentence,
} from '../page/page-response.ts'
import { clearSessionCookie, formatSessionCookie, type SessionStore, sessionTtlMs } from './session-store.ts'

export const registerLogin = (
  app: FastifyInstance,
  { reloader, recordAdminEvent }: AdminContext,
  log: Log,
  sessions: SessionStore,
  proofs: Pick<OperatorProofs, 'verify' | 'tokenScopes'>,
): void => {
  const throttle = new AttemptThrottle(loginLimit)

  app.get('/login', async (request, reply) => {
    const { admin } = reloader.config
    if (!hasLogin(admin, proofs) || getPrincipal(request).session !== null) return reply.redirect('/', 303)
    if (!isConfidential(request.socket)) return sendPage(reply, loginUnavailable.status, loginUnavailablePage())
    const isLost = targetQuery(request.url) === 'done'
    return sendPage(reply, 200, loginPage(getPrincipal(request), isLost ? cookieLost : null))
  })

  app.post('/login', async (request, reply) => {
    const { admin, hash: config } = reloader.config
    if (!hasLogin(admin, proofs)) return reply.redirect('/', 303)
    if (!isConfidential(request.socket)) return sendAdminError(request, reply, loginUnavailable)
    const form = parseForm(request)
    if (isAdminError(form)) return showLoginAgain(request, reply, form)
    const retryAfter = throttle.tryAcquire()
    if (retryAfter !== null) return showLoginAgain(request, reply, tooManyAttempts(retryAfter))
    const given = (form.get('token') ?? '').trim()
    const token = findOperatorToken(given, admin) ?? (await proofs.verify(given, request.ip))
    if (token !== null && isAdminError(token)) return showLoginAgain(request, reply, token)
    if (token === null || !includesScope(token.operator.scope, 'read')) {
      const operator = token === null ? {} : { operator: token.operator.name }
      log.warn({ client: request.ip, ...operator }, 'login rejected')
      recordAdminEvent('login rejected', { address: request.ip, ...operator, config })
      return showLoginAgain(request, reply, token === null ? wrongToken : tokenOfAScraper)
    }
    sessions.end(getPrincipal(request))
    const { id, principal, lifeMs } = sessions.open(token)
    const { name: operator, proof } = token.operator
    log.info({ client: request.ip, operator, proof, session: principal.session }, 'login')
    recordAdminEvent('login', { operator, proof, session: principal.session, address: request.ip, config })
    return reply.header('Set-Cookie', formatSessionCookie(request.headers, id, lifeMs)).redirect('/login?done', 303)
  })

  app.post('/logout', async (request, reply) => {
    const form = parseForm(request)
    if (isAdminError(form)) return sendAdminError(request, reply, form)
    const { operator, session } = getPrincipal(request)
    if (operator !== null && session !== null) {
      sessions.end(getPrincipal(request))
      log.info({ client: request.ip, operator: operator.name, session }, 'logout')
      recordAdminEvent('logout', {
        operator: operator.name,
        session,
        address: request.ip,
        config: reloader.config.hash,
      })
    }
    return reply.header('Set-Cookie', clearSessionCookie(request.headers)).redirect('/login', 303)
  })
}

const showLoginAgain = (request: FastifyRequest, reply: FastifyReply, rejection: AdminError): FastifyReply =>
  acceptsHtml(request.headers)
    ? sendPage(
        reply.headers(rejection.headers ?? {}),
        rejection.status,
        loginPage(getPrincipal(request), rejection.detail),
      )
    : sendProblem(reply, rejection)

const loginUnavailable: AdminError = {
  status: 403,
  code: 'no-login',
  detail:
    'this connection has no TLS and does not come by loopback, so others on the network could read the token: use a tunnel to 127.0.0.1, or set admin.tls',
}

/** A browser that has kept the cookie shows the overview instead of the form. */
const cookieLost =
  'the token was right, but the browser did not store the cookie of the session: it does so only over https, or from localhost or 127.0.0.1'

/** A token with the scope `metrics` opens no session. */
export const hasLogin = (admin: AdminConfig, proofs: Pick<OperatorProofs, 'tokenScopes'>): boolean =>
  [...listOperatorTokens(admin).map(({ operator }) => operator.scope), ...proofs.tokenScopes(admin)].some((scope) =>
    includesScope(scope, 'read'),
  )

const wrongToken: AdminError = { status: 403, code: 'wrong-token', detail: 'no operator has this token' }

const tokenOfAScraper: AdminError = {
  status: 403,
  code: 'insufficient-scope',
  detail: 'this token is for /metrics and /whoami alone: log in with one of the scope read or operate',
}

// The burst is for people who mistype. One limit for all clients: an attacker changes addresses freely.
const loginLimit = { policy: 'login', perMs: 2 / 1000, burst: 5 } as const

interface LoginConnection {
  readonly encrypted?: boolean
  readonly localAddress?: string | undefined
  readonly remoteAddress?: string | undefined
}

/**
 * A token and a cookie are safe over TLS, or if both ends of the connection are on loopback: `kubectl port-forward` and
 * `ssh -L` encrypt, then connect on loopback. A mesh's sidecar passes network traffic on from 127.0.0.6 to the pod's
 * address. Not handled: a proxy on the same loopback that takes plain HTTP.
 */
export const isConfidential = ({ encrypted = false, localAddress, remoteAddress }: LoginConnection): boolean =>
  encrypted || [localAddress, remoteAddress].every((address) => address !== undefined && isLoopbackHost(address))

const loginPage = (principal: Principal, reason: string | null): Html =>
  renderLayout({
    title: 'Log in',
    body: html`<h1>Log in</h1>
${reason === null ? null : html`<p role="alert">${toSentence(reason)}</p>\n`}<form method="post" action="/login">
${csrfTokenField(principal)}
<p><label for="token">Token of the operators, or your own</label>
<input type="password" id="token" name="token" autocomplete="current-password" required autofocus></p>
<p><button type="submit">Log in</button></p>
</form>
<p>A session lasts ${spellDuration(sessionTtlMs)}, and no longer than its token. Scripts send the token as <code>Authorization: Bearer</code> instead.</p>`,
  })

const loginUnavailablePage = (): Html =>
  renderLayout({
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
