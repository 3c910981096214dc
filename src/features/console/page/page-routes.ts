import type { FastifyInstance, FastifyRequest } from 'fastify'
import { getPrincipal } from '../../../core/admin/access/principal.ts'
import type { AdminContext } from '../../../core/admin/admin-context.ts'
import { type AdminError, sendProblem } from '../../../core/admin/admin-error.ts'
import { getPageView } from '../../../core/admin/api/overview.ts'
import { registerAssets } from './assets.ts'
import { renderConfigurationPage } from './configuration-page.ts'
import { renderOverviewPage } from './overview-page.ts'
import { contentSecurityPolicy, sendPage } from './page-response.ts'
import { maxStreams, SseHub, type SseStream } from './sse-hub.ts'

/** Returns the streams. */
export const registerPageRoutes = (
  app: FastifyInstance,
  context: AdminContext,
  isAuthorized: (request: FastifyRequest) => boolean,
): Pick<SseHub, 'end' | 'recheck'> => {
  const streams = new SseHub(() => getPageView(context))
  registerAssets(app)
  registerEventStream(app, streams, isAuthorized)
  app.get('/', async (request, reply) =>
    sendPage(reply, 200, renderOverviewPage(await getPageView(context), getPrincipal(request)), {
      'Content-Security-Policy': scriptPolicy,
    }),
  )
  app.get('/configuration', async (_, reply) => sendPage(reply, 200, renderConfigurationPage(context.reloader)))
  return streams
}

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
