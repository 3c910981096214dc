import type { RequestListener, Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { AdminConfig } from '../config/config.ts'
import { createServer } from '../node-http.ts'
import type { Log } from '../observe/log.ts'
import { noSchemas } from '../shared/no-schemas.ts'
import { listenAt, type Place } from '../shared/place.ts'
import { registerCommands } from './commands/routes.ts'
import { type Desk, unready } from './desk.ts'
import { type Runnable, runnable } from './findings/finding.ts'
import { guard, isAction } from './guard.ts'
import { History } from './history.ts'
import { registerMetrics } from './metrics/route.ts'
import { overview, refused } from './overview.ts'
import { registerPage } from './page/events.ts'
import { refuse, wantsPage } from './page/send.ts'
import { type Refusal, sendProblem } from './problem.ts'
import { registerLogin } from './session/login.ts'
import { isFrom, Sessions, visitorOf } from './session/sessions.ts'
import { status } from './status.ts'
import { logged, pathOf } from './target.ts'

/** Is the operator's listener. */
export interface AdminServer {
  readonly address: AddressInfo
  /** Takes a renewed certificate; connections that are open keep theirs. Sessions end when the token is another. */
  renew(admin: AdminConfig): void
  close(): Promise<void>
}

/** Is the desk before its listener is open. */
export type ToldDesk = Omit<Desk, 'history' | 'runnable'>

/** Opens the operator's listener, where the file says unless told otherwise. Rejects when it cannot listen there. */
export const openAdminServer = async (told: ToldDesk, log: Log, place?: Place): Promise<AdminServer> => {
  const history = new History(async () => (await told.report()).meter)
  let run: Runnable = (found) => found
  const desk: Desk = { ...told, history, runnable: (found) => run(found) }
  const { admin } = desk.reloader.config
  const sessions = new Sessions()
  /** Notes who asks for what, and says why he is not let in (null: he is). */
  const receive = (request: FastifyRequest, { raw }: FastifyReply): Refusal | null => {
    const { method, url, ip } = request
    const refusal = admit(request, sessions, desk.reloader.config.admin)
    const { session } = visitorOf(request)
    // At the close and not at the end of the answer: whoever leaves before it has given the order all the same.
    if (method !== 'GET' && method !== 'HEAD')
      raw.once('close', () => {
        const status = raw.writableFinished ? raw.statusCode : clientGone
        const by = session === null ? {} : { session }
        log.info({ method, url: logged(url), client: ip, status, ...by }, 'admin request')
        const { hash: config } = desk.reloader.config
        desk.audit.tell('admin request', { order: `${method} ${logged(url)}`, address: ip, ...by, status, config })
      })
    return refusal
  }
  const app = fastify({
    logger: false,
    schemaController: noSchemas,
    bodyLimit: 16 * 1024,
    return503OnClosing: false,
    serverFactory: (enter) => listener(admin, enter as RequestListener),
    // A target that cannot be decoded comes here instead of to the hooks.
    frameworkErrors: (_, request, reply) => void sendProblem(reply, receive(request, reply) ?? notDecoded),
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_, body, done) => done(null, body))

  app.addHook('onRequest', async (request, reply) => {
    reply.header('Cache-Control', 'no-store')
    const refusal = receive(request, reply)
    if (refusal !== null) return turnAway(request, reply, refusal)
  })
  routes(app, desk, log, sessions)
  const streams = registerPage(app, desk, (request) => admit(request, sessions, desk.reloader.config.admin) === null)
  app.setErrorHandler((error, { url }, reply) => {
    const code = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
    if (code >= 500) log.error({ err: error, url: logged(url) }, 'admin request failed')
    const detail = code < 500 && error instanceof Error ? error.message : 'see the log'
    sendProblem(reply, { status: code, code: 'failed', detail })
  })
  await app.ready()
  await listenAt(app.server, place ?? admin)
  run = runnable(desk.reloader, admin, app.server.address() as AddressInfo)
  void history.begin()

  return {
    address: app.server.address() as AddressInfo,
    renew(next) {
      sessions.follow(next.token)
      renew(app.server, next)
    },
    async close() {
      history.close()
      streams.end()
      const closed = new Promise((resolve) => app.server.close(resolve))
      app.server.closeAllConnections()
      await closed
      await app.close()
    },
  }
}

const routes = (app: FastifyInstance, desk: Desk, log: Log, sessions: Sessions): void => {
  const methods = new Map<string, string[]>()
  // HEAD as well, which Fastify adds to each GET.
  app.addHook('onRoute', ({ url, method }) => void methods.set(url, [...(methods.get(url) ?? []), method].flat()))

  app.get('/live', async () => ({ live: true }))
  app.get('/ready', async (_, reply) => {
    const reason = unready(desk)
    return reason === null ? { ready: true } : reply.code(503).send({ ready: false, reason })
  })
  app.get('/status', async () => status(desk))
  app.get('/overview', async () => overview(desk))
  app.get('/refused', async () => refused(desk))
  app.get('/config', async () => desk.reloader.running.report)
  registerCommands(app, desk, log)
  registerMetrics(app, desk)
  registerLogin(app, desk, log, sessions)

  app.setNotFoundHandler(({ url }, reply) => {
    const path = pathOf(url)
    const allow = methods.get(path)?.join(', ')
    return allow === undefined
      ? sendProblem(reply, { ...notFound, detail: `one of ${[...methods.keys()].join(', ')} is expected` })
      : sendProblem(reply, { ...notAllowed, detail: `${path} takes ${allow}`, fields: { Allow: allow } })
  })
}

const clientGone = 499 // as on the access line
const notDecoded = {
  status: 400,
  code: 'bad-request',
  detail: 'the path holds a percent sign that encodes nothing',
}
const notFound = { status: 404, code: 'not-found' }
const notAllowed = { status: 405, code: 'method-not-allowed' }

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

// Operators and probes are few. What floods this listener would otherwise take the descriptors that clients of the public one need.
const maxConnections = 256
const withinMs = 10_000
// Longer than a reload may take, behind one that is under way.
const idleMs = 60_000

/**
 * Makes the server of the operator's listener. Not Fastify's own: for `localhost` that opens a second one, which keeps the certificate
 * it began with.
 */
export const listener = ({ tls }: AdminConfig, enter: RequestListener): Server => {
  const options = {
    requireHostHeader: false, // HAProxy's health checks send none
    headersTimeout: withinMs,
    requestTimeout: withinMs,
    keepAliveTimeout: withinMs,
    connectionsCheckingInterval: 1000,
  }
  const server: Server =
    tls === null
      ? createServer(options, enter)
      : createTlsServer({ ...options, ...secrets(tls), handshakeTimeout: withinMs }, enter)
  server.setTimeout(idleMs)
  server.maxConnections = maxConnections
  server.on('drop', () => server.closeIdleConnections()) // whoever comes next finds room, a probe among them
  return server
}

/** Has a listener present a renewed certificate to whoever connects from now on. */
export const renew = (server: Server, { tls }: AdminConfig): void => {
  if (tls !== null && 'setSecureContext' in server && typeof server.setSecureContext === 'function')
    server.setSecureContext(secrets(tls))
}

const secrets = ({ certificate, key }: NonNullable<AdminConfig['tls']>) => ({
  cert: certificate,
  key,
  minVersion: 'TLSv1.2' as const,
})
