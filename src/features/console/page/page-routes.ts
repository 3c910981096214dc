import type { FastifyInstance, FastifyRequest } from 'fastify'
import { getPrincipal } from '../../../core/admin/access/principal.ts'
import { type AdminError, sendProblem } from '../../../core/admin/admin-error.ts'
import type { OpenPages } from '../../../core/admin/admin-part.ts'
import { targetPath } from '../../../core/admin/url.ts'
import { getPageView } from '../../overview/overview.ts'
import { hasLogin, registerLogin } from '../session/login.ts'
import { createSessionStore } from '../session/session-store.ts'
import { registerActionPages } from './action-pages.ts'
import { registerAssets } from './assets.ts'
import { renderConfigurationPage } from './configuration-page.ts'
import { acceptsHtml, contentSecurityPolicy, sendAdminError, sendPage } from './page-response.ts'
import { createSseHub, maxStreams, type SseHub, type SseStream } from './sse-hub.ts'

export const openOperatorPages: OpenPages = (context, log, proofs, recheck) => {
  const { reloader } = context
  const sessions = createSessionStore(proofs)
  const streams = createSseHub(() => getPageView(context))
  return {
    findInSession: (headers, admin) => sessions.find(headers, admin),
    registerActionPages: (app) => registerActionPages(app, context, log, recheck),
    registerPages(app) {
      registerLogin(app, context, log, sessions, proofs)
      registerAssets(app)
      registerEventStream(app, streams, (request) => recheck(request) === null)
      app.get('/', async (request, reply) => {
        const { renderOverviewPage } = await import('./overview-page.ts')
        const page = renderOverviewPage(await getPageView(context), getPrincipal(request))
        return sendPage(reply, 200, page, { 'Content-Security-Policy': scriptPolicy })
      })
      app.get('/configuration', async (_, reply) => sendPage(reply, 200, renderConfigurationPage(reloader)))
    },
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

// Pages of actions take a form with its token too.
const pagePaths: ReadonlySet<string> = new Set(['/', '/configuration', '/login', '/logout'])

// Only sections.js turns text into HTML.
const scriptPolicy = contentSecurityPolicy(
  "script-src 'self'",
  "connect-src 'self'",
  "require-trusted-types-for 'script'",
  'trusted-types sections',
)

// The browser's delay before it reconnects.
const retryMs = 1000

/** Server-sent events, as long as `isAuthorized` accepts the request that began the stream. */
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
  'X-Accel-Buffering': 'no', // a proxy in front must not buffer the stream
  Connection: 'close',
}

const tooManyStreams: AdminError = {
  status: 503,
  code: 'too-many-streams',
  detail: `${maxStreams} pages are live already, or this process is stopping: close one, or load the page again`,
  headers: { 'Retry-After': '5' },
}
