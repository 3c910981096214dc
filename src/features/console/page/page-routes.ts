import type { FastifyInstance, FastifyRequest } from 'fastify'
import { getPrincipal } from '../../../core/admin/access/principal.ts'
import { type AdminError, sendProblem } from '../../../core/admin/admin-error.ts'
import type { OpenPages } from '../../../core/admin/admin-part.ts'
import { getPageView } from '../../../core/admin/api/overview.ts'
import { targetPath } from '../../../core/admin/url.ts'
import { hasLogin, registerLogin } from '../session/login.ts'
import { SessionStore } from '../session/session-store.ts'
import { registerAssets } from './assets.ts'
import { renderConfigurationPage } from './configuration-page.ts'
import { registerOrderPages } from './order-pages.ts'
import { renderOverviewPage } from './overview-page.ts'
import { acceptsHtml, contentSecurityPolicy, sendAdminError, sendPage } from './page-response.ts'
import { maxStreams, SseHub, type SseStream } from './sse-hub.ts'

export const openOperatorPages: OpenPages = async (context, log, proofs, recheck) => {
  const { reloader } = context
  const sessions = new SessionStore(proofs)
  const streams = new SseHub(() => getPageView(context))
  return {
    findInSession: (headers, admin) => sessions.find(headers, admin),
    registerOrderPages: (app) => registerOrderPages(app, context, log, recheck),
    registerPages(app) {
      registerLogin(app, context, log, sessions, proofs)
      registerAssets(app)
      registerEventStream(app, streams, (request) => recheck(request) === null)
      app.get('/', async (request, reply) =>
        sendPage(reply, 200, renderOverviewPage(await getPageView(context), getPrincipal(request)), {
          'Content-Security-Policy': scriptPolicy,
        }),
      )
      app.get('/configuration', async (_, reply) => sendPage(reply, 200, renderConfigurationPage(reloader)))
    },
    // A browser is sent to the login, or reads why.
    reject(request, reply, rejection) {
      const { method, url, headers } = request
      const path = targetPath(url)
      if (!pagePaths.has(path) && !path.startsWith('/actions/')) return null
      const mayLogIn = hasLogin(reloader.config.admin, proofs) && rejection.status === 401 && acceptsHtml(headers)
      return mayLogIn && method === 'GET' ? reply.redirect('/login', 303) : sendAdminError(request, reply, rejection)
    },
    applyConfig(admin) {
      sessions.sync(admin)
      streams.recheck()
    },
    end: () => streams.end(),
  }
}

// Beside them, the pages of actions take a form with its token.
const pagePaths: ReadonlySet<string> = new Set(['/', '/configuration', '/login', '/logout'])

// Text becomes HTML by the one policy of sections.js, and by nothing else.
const scriptPolicy = contentSecurityPolicy(
  "script-src 'self'",
  "connect-src 'self'",
  "require-trusted-types-for 'script'",
  'trusted-types sections',
)

// How long a browser waits before it reconnects.
const retryMs = 1000

/**
 * Keeps pages up to date by server-sent events, for as long as `isAuthorized` holds of the request that began the
 * stream.
 */
export const registerEventStream = (
  app: FastifyInstance,
  streams: SseHub,
  isAuthorized: (request: FastifyRequest) => boolean,
): void => {
  app.get('/events', { exposeHeadRoute: false }, (request, reply) => {
    const { raw } = reply
    let stream: SseStream | null = null
    stream = streams.open({
      write: (text) => !raw.destroyed && raw.write(text),
      end(atOnce) {
        if (atOnce) raw.destroy()
        else raw.end()
      },
      isAuthorized: () => isAuthorized(request),
    })
    if (stream === null) return sendProblem(reply, tooManyStreams)
    reply.hijack()
    raw.on('drain', stream.onDrain)
    // It may have left while its token was verified.
    if (raw.closed) return stream.onClose()
    raw.once('close', stream.onClose)
    raw.writeHead(200, fields)
    raw.write(`retry: ${retryMs}\n\n`)
  })
}

const fields = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Accel-Buffering': 'no', // for a proxy before this listener, which would buffer what is to be seen at once
  // The connection is of no further use: it ends with the stream.
  Connection: 'close',
}

const tooManyStreams: AdminError = {
  status: 503,
  code: 'too-many-streams',
  detail: `${maxStreams} pages are kept up to date already, or this process is about to leave: close one, or load the page again`,
  headers: { 'Retry-After': '5' },
}
