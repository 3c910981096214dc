import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import type { AdminConfig } from '../config/config.ts'
import { insertBeside } from '../lib/beside.ts'
import { type BindTarget, listenAt } from '../lib/net/bind-target.ts'
import { noSchemaCompilers } from '../lib/no-schema-compilers.ts'
import { onlyOne } from '../lib/part-loaders.ts'
import { formatCommandLine } from '../lib/program.ts'
import type { Log } from '../log/log.ts'
import { type AdminAccess, authenticateAdmin, recheckAdmin } from './access/authenticate.ts'
import { reports } from './access/authorize.ts'
import { noProofs, TokenRejections } from './access/operator-tokens.ts'
import { getPrincipal, type Principal, principalsWithoutSession } from './access/principal.ts'
import { type AdminContext, type AdminContextInit, CommandHistory } from './admin-context.ts'
import { type AdminError, isAdminError, renderAdminJson, sendProblem } from './admin-error.ts'
import type { OperatorPages, Recheck } from './admin-part.ts'
import { adminParts, findClients } from './admin-parts.ts'
import { getNotReadyReason } from './api/readiness.ts'
import { registerCommands } from './commands/routes.ts'
import { createCommandFormatter, type FormatCommand } from './findings/finding.ts'
import { createAdminListener, reloadAdminTls } from './listener.ts'
import { configurationMetrics, processMetrics, recordingMetrics, retiringMetrics } from './metrics/families/process.ts'
import { requestCounts, trafficMetrics } from './metrics/families/traffic.ts'
import { endpointMetrics, upstreamMetrics } from './metrics/families/upstreams.ts'
import { expositionContentType, type MetricDefinitions, renderExposition } from './metrics/metric.ts'
import { collectMetricInputs } from './metrics/metric-inputs.ts'
import { loggablePath, targetPath } from './url.ts'

export interface AdminServer {
  readonly address: AddressInfo
  /** Applies tokens, and the certificate to new connections. Sessions end with their token. */
  applyConfig(admin: AdminConfig): void
  close(): Promise<void>
}

// Loaded while the configuration is read. Undefined: no feature has any.
const [openProofs, openPages] = await Promise.all([
  onlyOne(adminParts, (part) => part.loadProofs)?.(),
  onlyOne(adminParts, (part) => part.loadPages)?.(),
])

/** Rejects if it cannot listen at the configured address, or at `target`. */
export const openAdminServer = async (init: AdminContextInit, log: Log, target?: BindTarget): Promise<AdminServer> => {
  let formatter: FormatCommand = (command) => formatCommandLine(command)
  const commandHistory = new CommandHistory()
  const formatCommand: FormatCommand = (command) => formatter(command)
  const rejections = new TokenRejections(log)
  const proofs = openProofs?.(log, rejections) ?? noProofs
  const operatorKeys = () => proofs.state()
  const states = adminParts.flatMap((part) => part.openState?.(init) ?? [])
  const own = { ...init, commandHistory, formatCommand, operatorKeys, findClients }
  const context: AdminContext = Object.assign(own, ...states.map(({ members }) => members))
  const { admin } = context.reloader.config
  proofs.applyConfig(admin)
  const recheck: Recheck = (request) => recheckAdmin(request, access, context.reloader.config.admin)
  const pages = openPages?.(context, log, proofs, recheck)
  const findInSession: AdminAccess['findInSession'] = (...request) => pages?.findInSession(...request) ?? null
  const access: AdminAccess = { findInSession, withoutSession: principalsWithoutSession(), proofs, rejections }
  const app = createAdminApp(context, log, access, pages)
  registerAdminRoutes(app, context, log, recheck, pages)
  await app.ready()
  await listenAt(app.server, target ?? admin)
  formatter = createCommandFormatter(context.reloader, admin, app.server.address() as AddressInfo)
  for (const state of states) state.start()

  return {
    address: app.server.address() as AddressInfo,
    applyConfig(next) {
      proofs.applyConfig(next)
      pages?.applyConfig(next)
      reloadAdminTls(app.server, next)
    },
    async close() {
      for (const state of states) state.close()
      proofs.close()
      pages?.end()
      const closed = new Promise((resolve) => app.server.close(resolve))
      app.server.closeAllConnections()
      await closed
      await app.close()
    },
  }
}

const createAdminApp = (
  { reloader, recordAdminEvent }: AdminContext,
  log: Log,
  access: AdminAccess,
  pages: OperatorPages | undefined,
): FastifyInstance => {
  const authenticateAndLog = async (request: FastifyRequest, { raw }: FastifyReply): Promise<AdminError | null> => {
    const rejection = await authenticateAdmin(request, access, reloader.config.admin)
    const by = describeCaller(getPrincipal(request))
    // A client that leaves early has given its command nevertheless.
    if (!isRead(request)) whenClosed(raw, () => logCommand(request, raw, by))
    return rejection
  }
  const logCommand = ({ method, url, ip }: FastifyRequest, raw: FastifyReply['raw'], by: Caller): void => {
    const status = raw.writableFinished ? raw.statusCode : clientClosedStatus
    const path = loggablePath(url)
    const { hash: config } = reloader.config
    log.info({ method, url: path, client: ip, status, ...by }, 'admin request')
    recordAdminEvent('admin request', { request: `${method} ${path}`, address: ip, ...by, status, config })
  }
  const reject = (request: FastifyRequest, reply: FastifyReply, rejection: AdminError): FastifyReply =>
    pages?.reject(request, reply, rejection) ?? sendProblem(reply, rejection)
  const app = fastify({
    logger: false,
    schemaController: noSchemaCompilers,
    bodyLimit: 16 * 1024,
    return503OnClosing: false,
    serverFactory: (onRequest) => createAdminListener(reloader.config.admin, onRequest as RequestListener),
    // Fastify passes undecodable targets here, without hooks.
    frameworkErrors: (_, request, reply) =>
      void authenticateAndLog(request, reply).then((rejection) => sendProblem(reply, rejection ?? notDecoded)),
  })
  app.setReplySerializer(renderAdminJson)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_, body, done) => done(null, body))

  app.addHook('onRequest', async (request, reply) => {
    reply.header('Cache-Control', 'no-store')
    const rejection = await authenticateAndLog(request, reply)
    if (rejection !== null) return reject(request, reply, rejection)
  })
  // A reload since the head may have removed the token or its scope.
  app.addHook('preHandler', async (request, reply) => {
    if (isRead(request)) return
    const rejection = await authenticateAdmin(request, access, reloader.config.admin)
    if (rejection !== null) return reject(request, reply, rejection)
  })
  app.setErrorHandler((error, { url }, reply) => {
    const code = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
    if (code >= 500) log.error({ err: error, url: loggablePath(url) }, 'admin request failed')
    const detail = code < 500 && error instanceof Error ? error.message : 'see the log'
    sendProblem(reply, { status: code, code: 'failed', detail })
  })
  return app
}

const describeCaller = ({ operator, session }: Principal) => ({
  ...(operator === null || operator.name === null ? {} : { operator: operator.name, proof: operator.proof }),
  ...(session === null ? {} : { session }),
})

type Caller = ReturnType<typeof describeCaller>

const registerAdminRoutes = (
  app: FastifyInstance,
  context: AdminContext,
  log: Log,
  recheck: Recheck,
  pages: OperatorPages | undefined,
): void => {
  const methods = new Map<string, string[]>()
  app.addHook('onRoute', ({ url, method }) => void methods.set(url, [...(methods.get(url) ?? []), method].flat()))

  app.get('/live', async () => ({ live: true }))
  app.get('/ready', async (_, reply) => {
    const reason = getNotReadyReason(context)
    return reason === null ? { ready: true } : reply.code(503).send({ ready: false, reason })
  })
  app.get('/whoami', async (request) => {
    const { operator, session } = getPrincipal(request)
    return { ...operator, session }
  })
  for (const { path, respond, respondText } of reports)
    app.get(path, async ({ headers }, reply) => {
      if (respondText !== undefined && /^\s*text\/plain\b/i.test(headers.accept ?? ''))
        return reply.type('text/plain; charset=utf-8').send(await respondText(context))
      const report = await respond(context)
      return isAdminError(report) ? sendProblem(reply, report) : report
    })
  registerCommands(app, context, log, recheck)
  pages?.registerActionPages(app)
  registerMetricsRoute(app, context)
  pages?.registerPages(app)

  app.setNotFoundHandler(({ url }, reply) => {
    const path = targetPath(url)
    const allow = methods.get(path)?.join(', ')
    return allow === undefined
      ? sendProblem(reply, { ...notFound, detail: `one of ${[...methods.keys()].join(', ')} is expected` })
      : sendProblem(reply, { ...notAllowed, detail: `${path} takes ${allow}`, headers: { Allow: allow } })
  })
}

/** The client may have left while its token was verified. */
const whenClosed = (raw: FastifyReply['raw'], callback: () => void): void => {
  if (raw.closed) callback()
  else raw.once('close', callback)
}

const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD'

const clientClosedStatus = 499 // as in the access log
const notDecoded = {
  status: 400,
  code: 'bad-request',
  detail: 'the path holds a percent sign that encodes nothing',
}
const notFound = { status: 404, code: 'not-found' }
const notAllowed = { status: 405, code: 'method-not-allowed' }

const registerMetricsRoute = (app: FastifyInstance, context: AdminContext): void => {
  app.get('/metrics', async (_, reply) => {
    const inputs = await collectMetricInputs(context)
    if (inputs === null) return sendProblem(reply, metricsOff)
    const exposed = metricFamilies.map((metric) => ({ ...metric, samples: metric.read(inputs) }))
    return reply.type(expositionContentType).send(renderExposition(exposed))
  })
}

const metricsOff = {
  status: 404,
  code: 'metrics-off',
  detail: 'the configuration says metrics: none, so nothing is counted',
}

const definitions = insertBeside(
  {
    requests: requestCounts,
    traffic: trafficMetrics,
    endpoints: endpointMetrics,
    upstreams: upstreamMetrics,
    configuration: configurationMetrics,
    process: processMetrics,
    retiring: retiringMetrics,
    recording: recordingMetrics,
  },
  adminParts.flatMap(({ metrics = [] }) => metrics),
)

export const metricFamilies = definitions.flatMap(Object.entries<MetricDefinitions[string]>).map(([name, metric]) => ({
  name: `lender_gateway_${name}`,
  ...metric,
}))
