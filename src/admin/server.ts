import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Server as TlsServer } from 'node:tls'
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify'
import type { AdminConfig } from '../config/config.ts'
import { changedGroups, report } from '../config/diff.ts'
import type { Log } from '../observe/log.ts'
import type { Outcome } from '../snapshot/reloader.ts'
import { guard } from './guard.ts'
import { override } from './operations.ts'
import { sendProblem } from './problem.ts'
import { type Desk, status } from './status.ts'

/** Is the operator's listener. */
export interface AdminServer {
  readonly address: AddressInfo
  /** Takes a renewed certificate; connections that are open keep theirs. */
  renew(admin: AdminConfig): void
  close(): Promise<void>
}

/** Opens the operator's listener. Rejects when the address cannot be listened on. */
export const openAdminServer = async (desk: Desk, log: Log): Promise<AdminServer> => {
  const { admin } = desk.reloader.config
  const app = listener(admin)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_, body, done) => done(null, body))

  app.addHook('onRequest', async (request, reply) => {
    const [path = ''] = request.url.split('?')
    const refusal = guard({ path, headers: request.headers }, desk.reloader.config.admin)
    if (refusal !== null) return sendProblem(reply, refusal)
  })
  app.addHook('onResponse', async ({ method, url, ip }, reply) => {
    if (method === 'GET' || method === 'HEAD') return
    log.info({ method, url, client: ip, status: reply.statusCode }, 'admin request')
  })
  routes(app, desk)
  app.setErrorHandler((error, { url }, reply) => {
    const code = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
    if (code >= 500) log.error({ err: error, url }, 'admin request failed')
    const detail = code < 500 && error instanceof Error ? error.message : 'see the log'
    sendProblem(reply, {
      status: code,
      title: code < 500 ? 'Bad Request' : 'Internal Server Error',
      code: 'failed',
      detail,
    })
  })
  await app.ready()
  await app.listen({ host: admin.host, port: admin.port })

  return {
    address: app.server.address() as AddressInfo,
    renew({ tls }) {
      if (tls === null) return
      const server = app.server as Server & Partial<TlsServer>
      server.setSecureContext?.({ cert: tls.certificate, key: tls.key, minVersion: 'TLSv1.2' })
    },
    close: () => app.close(),
  }
}

const listener = ({ tls }: AdminConfig): FastifyInstance => {
  const server = { requireHostHeader: false } // HAProxy's health checks send none
  const options = {
    logger: false,
    bodyLimit: 16 * 1024,
    requestTimeout: 10_000,
    connectionTimeout: 60_000, // longer than a reload may take
    forceCloseConnections: true,
    return503OnClosing: false,
  } as const
  if (tls === null) return fastify({ ...options, http: server })
  const https = { ...server, cert: tls.certificate, key: tls.key, minVersion: 'TLSv1.2' as const }
  return fastify({ ...options, https }) as unknown as FastifyInstance
}

const routes = (app: FastifyInstance, desk: Desk): void => {
  app.get('/live', async () => ({ live: true }))
  app.get('/ready', async (_, reply) => {
    const ready = !desk.draining()
    return reply.code(ready ? 200 : 503).send({ ready })
  })
  app.get('/status', async () => status(desk))
  app.get('/config', async () => report(desk.reloader.config))
  app.post('/reload', async (_, reply) => sendOutcome(reply, await desk.reloader.reload('request')))
  app.post('/rollback', async (_, reply) => {
    const outcome = await desk.reloader.rollback()
    return outcome === null ? sendProblem(reply, nothingBefore) : sendOutcome(reply, outcome)
  })
  for (const state of ['refuse', 'serve'] as const) {
    app.post(`/operations/${state}`, async ({ body }, reply) => {
      const done = await override(desk, state, typeof body === 'string' ? body : '')
      return 'detail' in done ? sendProblem(reply, done) : reply.send(done)
    })
  }

  const methods: Readonly<Record<string, string>> = {
    '/live': 'GET',
    '/ready': 'GET',
    '/status': 'GET',
    '/config': 'GET',
    '/reload': 'POST',
    '/rollback': 'POST',
    '/operations/refuse': 'POST',
    '/operations/serve': 'POST',
  }
  app.setNotFoundHandler(({ url }, reply) => {
    const [path = ''] = url.split('?')
    const method = methods[path]
    if (method === undefined)
      return sendProblem(reply, { ...notFound, detail: `one of ${Object.keys(methods).join(', ')} is expected` })
    const allow = method === 'GET' ? 'GET, HEAD' : method
    return sendProblem(reply, { ...notAllowed, detail: `${path} takes ${method}`, fields: { Allow: allow } })
  })
}

const sendOutcome = (reply: FastifyReply, outcome: Outcome): FastifyReply => {
  if (outcome.result !== 'refused') return reply.send({ ...outcome, groups: changedGroups(outcome.changes) })
  const { hash, problems } = outcome
  return sendProblem(reply, { ...refusedConfiguration, more: { hash, problems } })
}

const notFound = { status: 404, title: 'Not Found', code: 'not-found' }
const notAllowed = { status: 405, title: 'Method Not Allowed', code: 'method-not-allowed' }
const nothingBefore = {
  status: 409,
  title: 'Conflict',
  code: 'nothing-to-roll-back',
  detail: 'the configuration that runs is the first one of this process',
}
const refusedConfiguration = {
  status: 422,
  title: 'Unprocessable Content',
  code: 'configuration-refused',
  detail: 'the file cannot be taken; what ran before runs on',
}
