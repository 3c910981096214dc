import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Desk } from '../desk.ts'
import { overview } from '../overview.ts'
import { type Refusal, sendProblem } from '../problem.ts'
import { visitorOf } from '../session/sessions.ts'
import { registerAssets } from './assets.ts'
import { page } from './page.ts'
import { policy, sendPage } from './send.ts'
import { maxStreams, type Stream, Streams } from './streams.ts'

/** Shows the page, and keeps it up to date. Tells how to end what keeps it so. */
export const registerPage = (
  app: FastifyInstance,
  desk: Desk,
  mayStay: (request: FastifyRequest) => boolean,
): Pick<Streams, 'end'> => {
  const streams = new Streams(() => overview(desk))
  registerAssets(app)
  registerEvents(app, streams, mayStay)
  app.get('/', async (request, reply) =>
    sendPage(reply, 200, page(await overview(desk), visitorOf(request)), { 'Content-Security-Policy': scripted }),
  )
  return streams
}

// A text becomes HTML by the one policy of sections.js, and by nothing else.
const scripted = policy(
  "script-src 'self'",
  "connect-src 'self'",
  "require-trusted-types-for 'script'",
  'trusted-types sections',
)

// How long a browser waits before it comes again.
const retryMs = 1000

/** Keeps pages up to date by server-sent events, for as long as `mayStay` says so of the request that each began with. */
export const registerEvents = (
  app: FastifyInstance,
  streams: Streams,
  mayStay: (request: FastifyRequest) => boolean,
): void => {
  app.get('/events', { exposeHeadRoute: false }, (request, reply) => {
    const { raw } = reply
    let stream: Stream | null = null
    stream = streams.open({
      write: (text) => !raw.destroyed && raw.write(text),
      end(atOnce) {
        if (atOnce) raw.destroy()
        else raw.end()
      },
      mayStay: () => mayStay(request),
    })
    if (stream === null) return sendProblem(reply, tooMany)
    reply.hijack()
    raw.on('drain', stream.drained)
    raw.once('close', stream.gone)
    raw.writeHead(200, fields)
    raw.write(`retry: ${retryMs}\n\n`)
  })
}

const fields = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Accel-Buffering': 'no', // of a proxy before this listener, which would gather what is to be seen at once
  // The connection is of no further use: it ends with the stream.
  Connection: 'close',
}

const tooMany: Refusal = {
  status: 503,
  code: 'too-many-streams',
  detail: `${maxStreams} pages are kept up to date already, or this process is about to leave: close one, or load the page again`,
  fields: { 'Retry-After': '5' },
}
