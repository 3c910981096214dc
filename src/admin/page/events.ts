import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Refusal, sendProblem } from '../problem.ts'
import { maxStreams, type Stream, type Streams } from './streams.ts'

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
