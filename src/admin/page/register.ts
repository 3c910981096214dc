import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Desk } from '../desk.ts'
import { overview } from '../overview.ts'
import { visitorOf } from '../session/sessions.ts'
import { registerAssets } from './assets.ts'
import { registerEvents } from './events.ts'
import { page } from './page.ts'
import { policy, sendPage } from './send.ts'
import { Streams } from './streams.ts'

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
