import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { AdminConfig } from '../config/config.ts'
import { changedGroups, report } from '../config/diff.ts'
import type { Log } from '../observe/log.ts'
import { descriptorOf, listenAt, type Place } from '../shared/place.ts'
import type { Outcome } from '../snapshot/reloader.ts'
import { clear } from './cache.ts'
import { order } from './endpoints.ts'
import { guard } from './guard.ts'
import { listener, renew } from './listener.ts'
import { override } from './operations.ts'
import { type Refusal, sendProblem } from './problem.ts'
import { type Desk, isReady, status } from './status.ts'
import { time } from './time.ts'

/** Is the operator's listener. */
export interface AdminServer {
  readonly address: AddressInfo
  /** Takes a renewed certificate; connections that are open keep theirs. */
  renew(admin: AdminConfig): void
  /** Tells the descriptor that it listens on; null: it does no more. */
  descriptor(): number | null
  /** Leaves the operators to another process: accepts nothing new, and ends each connection with its answer. */
  leave(): void
  close(): Promise<void>
}

/** Opens the operator's listener, where the file says unless told otherwise. Rejects when it cannot listen there. */
export const openAdminServer = async (desk: Desk, log: Log, place?: Place): Promise<AdminServer> => {
  const { admin } = desk.reloader.config
  let left = false
  /** Notes who gives an order, and says why he is not let in (null: he is). */
  const receive = ({ method, url, ip, headers }: FastifyRequest, { raw }: FastifyReply): Refusal | null => {
    const path = pathOf(url)
    // At the close and not at the end of the answer: whoever leaves before it has given the order all the same.
    if (method !== 'GET' && method !== 'HEAD')
      raw.once('close', () => {
        const status = raw.writableFinished ? raw.statusCode : clientGone
        log.info({ method, url: logged(url), client: ip, status }, 'admin request')
        const { hash: config } = desk.reloader.config
        desk.audit.tell('admin request', { order: `${method} ${logged(url)}`, address: ip, status, config })
      })
    return guard({ path, headers }, desk.reloader.config.admin)
  }
  const app = fastify({
    logger: false,
    bodyLimit: 16 * 1024,
    return503OnClosing: false,
    serverFactory: (enter) => listener(admin, enter as RequestListener),
    // A target that cannot be decoded comes here instead of to the hooks.
    frameworkErrors: (_, request, reply) => void sendProblem(reply, receive(request, reply) ?? notDecoded),
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_, body, done) => done(null, body))

  app.addHook('onRequest', async (request, reply) => {
    if (left) reply.header('Connection', 'close')
    const refusal = receive(request, reply)
    if (refusal !== null) return sendProblem(reply, refusal)
  })
  routes(app, desk, log)
  app.setErrorHandler((error, { url }, reply) => {
    const code = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
    if (code >= 500) log.error({ err: error, url: logged(url) }, 'admin request failed')
    const detail = code < 500 && error instanceof Error ? error.message : 'see the log'
    sendProblem(reply, { status: code, code: 'failed', detail })
  })
  await app.ready()
  await listenAt(app.server, place ?? admin)

  return {
    address: app.server.address() as AddressInfo,
    renew: (next) => renew(app.server, next),
    descriptor: () => descriptorOf(app.server),
    leave() {
      left = true
      app.server.close()
    },
    async close() {
      const closed = new Promise((resolve) => app.server.close(resolve))
      app.server.closeAllConnections()
      await closed
      await app.close()
    },
  }
}

const routes = (app: FastifyInstance, desk: Desk, log: Log): void => {
  const methods = new Map<string, string[]>()
  // HEAD as well, which Fastify adds to each GET.
  app.addHook('onRoute', ({ url, method }) => void methods.set(url, [...(methods.get(url) ?? []), method].flat()))

  app.get('/live', async () => ({ live: true }))
  app.get('/ready', async (_, reply) => {
    const ready = isReady(desk)
    return reply.code(ready ? 200 : 503).send({ ready })
  })
  app.get('/status', async () => status(desk))
  app.get('/config', async () => report(desk.reloader.config))
  app.delete('/cache', async ({ url }, reply) => {
    const done = await clear(desk, queryOf(url))
    if ('detail' in done) return sendProblem(reply, done)
    log.info(done, 'cache cleared')
    desk.audit.tell('cache cleared', { ...done })
    return done
  })
  app.post('/reload', async ({ url }, reply) => {
    const query = queryOf(url)
    if (query !== '' && !forced.has(query)) return sendProblem(reply, notForce)
    return sendOutcome(reply, await desk.reloader.reload('request', query !== ''))
  })
  app.post('/rollback', async (_, reply) => {
    const outcome = await desk.reloader.rollback()
    return outcome === null ? sendProblem(reply, nothingBefore) : sendOutcome(reply, outcome)
  })
  for (const state of ['refuse', 'serve'] as const) {
    app.post(`/operations/${state}`, async ({ body }, reply) => {
      const done = await override(desk, state, typeof body === 'string' ? body : '')
      if ('detail' in done) return sendProblem(reply, done)
      log.info(done, 'operation override')
      desk.audit.tell('operation override', { ...done })
      return done
    })
  }
  for (const state of ['drain', 'ready'] as const) {
    app.post(`/endpoints/${state}`, async ({ body }, reply) => {
      const done = await order(desk, state, typeof body === 'string' ? body : '')
      if ('detail' in done) return sendProblem(reply, done)
      const { url: endpoint, ...told } = done
      log.info({ endpoint, ...told }, 'endpoint order')
      desk.audit.tell('endpoint order', { endpoint, ...told })
      return done
    })
  }

  app.setNotFoundHandler(({ url }, reply) => {
    const path = pathOf(url)
    const allow = methods.get(path)?.join(', ')
    return allow === undefined
      ? sendProblem(reply, { ...notFound, detail: `one of ${[...methods.keys()].join(', ')} is expected` })
      : sendProblem(reply, { ...notAllowed, detail: `${path} takes ${allow}`, fields: { Allow: allow } })
  })
}

const queryOf = (url: string): string => url.split('?').slice(1).join('?')

const pathOf = (url: string): string => url.split('?', 1)[0] ?? ''

// Somebody may write a token into the query, and whoever has none can leave lines, though not long ones.
const maxLoggedPath = 100
const logged = (url: string): string => pathOf(url).slice(0, maxLoggedPath)

const sendOutcome = (reply: FastifyReply, outcome: Outcome): FastifyReply => {
  if (outcome.result !== 'refused') return reply.send({ ...outcome, groups: changedGroups(outcome.changes) })
  const { hash, problems, held } = outcome
  if (held === null) return sendProblem(reply, { ...refusedConfiguration, more: { hash, problems } })
  return sendProblem(reply, { ...heldBack, more: { hash, problems, nextTry: time(held.nextTryAt) } })
}

const clientGone = 499 // as on the access line
const notDecoded = {
  status: 400,
  code: 'bad-request',
  detail: 'the path holds a percent sign that encodes nothing',
}
// What skips a safeguard is said in so many words: `force=0` would mean the contrary to whoever writes it.
const forced: ReadonlySet<string> = new Set(['force', 'force=', 'force=true'])
const notForce = {
  status: 400,
  code: 'bad-request',
  detail: '/reload takes ?force or ?force=true and nothing else; nothing was read',
}
const notFound = { status: 404, code: 'not-found' }
const notAllowed = { status: 405, code: 'method-not-allowed' }
const nothingBefore = {
  status: 409,
  code: 'nothing-to-roll-back',
  detail: 'the configuration that runs is the first one of this process',
}
const refusedConfiguration = {
  status: 422,
  code: 'configuration-refused',
  detail: 'the file cannot be taken; what ran before runs on',
}
const heldBack = {
  status: 422,
  code: 'endpoints-not-reached',
  detail:
    'no endpoint that the edit brings to a group was reached, or not the keys that it brings; what ran before runs on, and the edit is tried again',
}
