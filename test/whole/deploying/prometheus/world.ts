/** A gateway of two workers that has everything on, what stands around it, and a Prometheus that watches it. */
import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { folderWith } from '../../../core/config/helper.ts'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { makeCertificates } from '../../../helpers/certificates.ts'
import type { Settings } from '../../../helpers/gateway.ts'
import { openHttpsUpstream } from '../../../helpers/https-upstream.ts'
import { needProgram, type Program } from '../../../helpers/program.ts'
import { type Prometheus, startPrometheus } from '../../../helpers/prometheus.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'
import { type Redis, startRedis } from '../../../helpers/redis.ts'
import { audience, issuer, jwks, signingKey } from '../../../helpers/tokens.ts'
import { openHttpUpstream } from '../../../helpers/upstream.ts'
import { command, startWorkerGateway, type WorkerGateway } from '../../../helpers/worker-gateway.ts'

const secret = 'A'.repeat(43)
/** The key of the only client. */
export const key = `key.${secret}`

export interface World {
  readonly gateway: WorkerGateway
  readonly prometheus: Prometheus
  readonly redis: Redis
  readonly settings: Settings
  /** The certificate of an authority that is good for an hour. */
  readonly brief: string
  /** Has the endpoint that speaks TLS show a certificate which ends in ten days. */
  endCertificate(): void
  /** Reads /metrics. */
  metrics(): Promise<string>
  /** Puts other settings into effect, reached or not. */
  edit(settings: Settings): Promise<number>
  close(): Promise<void>
}

/** Finds the programs that the world is made of. */
export const findPrograms = async () => {
  const [prometheus, redis] = [await needProgram('prometheus'), await needProgram('redis-server')]
  const openssl = await needProgram('openssl')
  const path = (program: Program): string => program.path ?? ''
  return {
    ...{ prometheus: path(prometheus), redis: path(redis), openssl: path(openssl) },
    missing: prometheus.missing ?? redis.missing ?? openssl.missing,
  }
}

type Programs = Awaited<ReturnType<typeof findPrograms>>

// At this signal a process has less and less time for anything else, and leaves the machine its own.
const starving = `process.on('SIGWINCH', () => setInterval(() => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 250)
}, 300))`

/** Opens all of it; nothing is left open when that fails. */
export const openWorld = async (programs: Programs): Promise<World> => {
  const ends: (() => unknown)[] = []
  const close = async (): Promise<void> => {
    for (const end of ends.splice(0).reverse()) await end()
  }
  try {
    return { ...(await openAll(programs, (end) => ends.push(end))), close }
  } catch (error) {
    await close()
    throw error
  }
}

const openAll = async (programs: Programs, onEnd: (end: () => unknown) => void): Promise<Omit<World, 'close'>> => {
  const set = jwks(signingKey('ES256', 'one'))
  const upstream = await openHttpUpstream(({ url, method }, response) => {
    if (url === '/jwks') return void response.end(set)
    if (url === '/v1/traces') return void response.end()
    const status = url.startsWith('/compliance/') && url.endsWith('ill') ? 503 : 200
    response.writeHead(status, { 'Cache-Control': method === 'GET' ? 'max-age=60' : 'no-store' })
    const [, ms = '0'] = /after=(\d+)/.exec(url) ?? []
    setTimeout(() => response.end('response'), Number(ms))
  })
  onEnd(() => upstream.close())
  const redis = await startRedis(programs.redis)
  onEnd(() => redis.kill())
  const certificates = makeCertificates(programs.openssl)
  const secure = await openHttpsUpstream(certificates.right)
  onEnd(() => secure.close())
  const folder = folderWith({})
  const inFile = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return `file:${join(folder, name)}`
  }
  const audit = createAuditLog((end) => onEnd(end))
  const contract = inFile('contract.json', JSON.stringify(keptContract)).slice('file:'.length)
  const [open, shared] = [{ auth: 'none' }, { redis: { url: redis.url, timeout: '1s' } }]
  const settings: Settings = {
    upstream: upstream.url,
    upstreams: {
      valuation: {
        endpoints: [`https://localhost:${secure.port}`],
        tls: { ca: inFile('authority.pem', certificates.authority.cert) },
      },
      compliance: { endpoints: [upstream.url], candidate: { endpoints: [upstream.url], shadow: { sample: '100%' } } },
    },
    defaults: { retry: {}, circuitBreaker: { minRequests: 5, openFor: '1s' } },
    listen: { trustedProxies: ['192.0.2.1'] },
    limits: { ...{ eventLoopDelay: '1m', concurrency: 1000 }, address: { rate: '100000/s' }, ...shared },
    cache: shared,
    auth: {
      methods: ['apiKey', 'jwt', 'mtls'],
      jwt: { issuer, audience: [audience], jwks: `${upstream.url}/jwks`, algorithms: ['ES256'] },
      mtls: { from: 'client-cert', ca: inFile('ca.pem', certificates.authority.cert) },
    },
    clients: [{ id: 'bank-a', operations: 'all', apiKeys: [{ id: 'key', sha256: hash('sha256', secret) }] }],
    operations: {
      ...{ 'valuation.score': open, 'valuation.forecast': open, 'risk.asset-valuation': open },
      ...{ 'analysis.esg-grant': open, 'compliance.audit-trail': open },
      'market.insights': { auth: 'none', cache: {} },
      'inventory.sync': { auth: 'none', concurrency: 2 },
      'financing.pre-approval': { idempotency: true },
    },
    contract: { file: contract },
    audit: audit.settings,
    tracing: { otlp: `${upstream.url}/v1/traces`, sample: '100%' },
    metrics: { clients: true },
    log: { buffer: '4KiB' },
    shutdown: { wait: '20s', deadline: '30s' },
  }
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(starving)}`
  const gateway = await startWorkerGateway(settings, command, { NODE_OPTIONS })
  onEnd(() => gateway.stop())
  const { port } = await gateway.line(({ msg }) => msg === 'admin listening')
  const prometheus = await startPrometheus(programs.prometheus, Number(port))
  onEnd(() => prometheus.close())
  return {
    ...{ gateway, prometheus, redis, settings },
    brief: inFile('brief.pem', certificates.authority.cert + certificates.brief.cert),
    endCertificate: () => secure.renew(certificates.ending),
    metrics: async () => (await gateway.ask('GET', '/metrics')).body,
    async edit(next) {
      gateway.edit(next)
      return (await gateway.ask('POST', '/reload?force')).status
    },
  }
}

/** A contract that no response breaks. */
const keptContract = {
  ...{ openapi: '3.1.1', info: { title: 'kept', version: '1' } },
  paths: { '/analysis/esg-grant': { get: { responses: { default: { description: 'any' } } } } },
}

/** Asks on a connection of its own, which goes to the next worker; returns the status. */
export const ask = async (port: number, method: string, target: string, more = '', body = ''): Promise<number> => {
  const length = body === '' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`
  const head = `${method} ${target} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n${more}${length}\r\n`
  return parseStatus(await exchangeRaw(port, head + body))
}

/** Sends requests, one after another with a pause between them, until it is ended. */
export const keepAsking = (requests: readonly (() => Promise<unknown>)[], pauseMs = 100): (() => Promise<void>) => {
  let isOver = false
  const run = async (): Promise<void> => {
    for (let n = 0; !isOver; n++) {
      await requests[n % requests.length]?.().catch(() => {})
      await pause(pauseMs)
    }
  }
  const running = run()
  return async () => {
    isOver = true
    await running
  }
}
