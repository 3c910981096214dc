/** Plants the twelve faults whose page an operator on call has to understand, each in a gateway of its own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { allOperations } from '../../../../src/operations.ts'
import { makeCertificates } from '../../../helpers/certificates.ts'
import { configText, type Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { mountsPermitted, onSmallDisk, withHostsFile } from '../../../helpers/mount-namespace.ts'
import { startRedis } from '../../../helpers/redis.ts'
import { type ServeProcess, serve, waitForListening } from '../../../helpers/serve-process.ts'
import { audience, claims, issuer, jwks, signingKey, signToken } from '../../../helpers/tokens.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { eventually } from '../../../helpers/wire.ts'
import { symptom } from './symptom.ts'

/** The token of operators at each of the gateways. */
export const faultToken = 'a-token-of-an-operator'

/** A gateway with a fault. */
interface FaultyGateway {
  /** The URL of the admin listener. */
  readonly admin: string
}

/** A fault: its number is that of its symptom in docs/operating.md. */
export interface Fault {
  readonly number: number
  readonly name: string
  /** The elements of the page that show something which does not work: none of them may have anything green. */
  readonly broken: readonly string[]
  /** Programs without which it cannot be made. */
  readonly needs?: 'openssl' | 'redis-server'
  readonly isImpossible?: boolean
  plant(program: string): Promise<FaultyGateway>
}

const common = (settings: Settings): Settings => ({
  instance: { name: 'gateway-eu-1', environment: 'production', colour: 'red' },
  ...settings,
  admin: { token: faultToken },
})

/** Boots a gateway in which everything but what `settings` change is well, and has been asked. */
const boot = async (settings: Settings, broken = '/market/insights'): Promise<LiveGateway> => {
  const { url: upstream } = await httpUpstream()
  const live = await bootLiveGateway(common({ upstream, ...settings }))
  for (const { method, path } of allOperations)
    if (path !== broken) await (await fetch(live.url + path, { method })).arrayBuffer()
  return live
}

const ask = async (url: string, times: number, init: RequestInit = {}, path = '/market/insights'): Promise<void> => {
  for (let n = 0; n < times; n++) await (await fetch(url + path, init)).arrayBuffer()
}

/** Makes a folder that goes with the test. */
export const folder = (): string => {
  const path = mkdtempSync(join(tmpdir(), 'fault-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

interface FaultyProcess extends FaultyGateway {
  readonly url: string
  readonly served: ServeProcess
}

const start = async (settings: Settings, through: readonly string[]): Promise<FaultyProcess> => {
  const { url: upstream } = await httpUpstream()
  return startProcess(common({ upstream, ...settings }), through)
}

/** Starts a gateway as a process, by the command that starts another one. */
export const startProcess = async (settings: Settings, through: readonly string[]): Promise<FaultyProcess> => {
  const file = join(folder(), 'gateway.yaml')
  writeFileSync(file, configText({ ...settings, shutdown: { wait: '0ms' } }))
  const served = serve(file, {}, through)
  const port = await waitForListening(served)
  const { port: adminPort } = await served.line(({ msg }) => msg === 'admin listening')
  return { served, url: `http://127.0.0.1:${port}`, admin: `http://127.0.0.1:${adminPort}` }
}

const operationRow = '#operation-market\\.insights'
const marketRows = [operationRow, '#endpoint-market-0', '#upstreams tr.group:has(#unfold-market)', '#summary']

/** The faults, in the order of docs/operating.md. */
export const faults: readonly Fault[] = [
  {
    number: 1,
    name: 'a dead endpoint',
    broken: marketRows,
    async plant() {
      const upstream = await httpUpstream()
      const live = await boot({ upstreams: { market: upstream.url } })
      await ask(live.url, 1)
      await upstream.close()
      await ask(live.url, 6)
      return live
    },
  },
  {
    number: 2,
    name: 'a slow endpoint',
    broken: marketRows,
    async plant() {
      const upstream = await httpUpstream(() => {})
      const market = { endpoints: [upstream.url], timeouts: { headers: '300ms' } }
      const live = await boot({ upstreams: { market } })
      await Promise.all(Array.from({ length: 6 }, () => ask(live.url, 1)))
      return live
    },
  },
  {
    number: 3,
    name: 'a certificate that has expired',
    broken: marketRows,
    needs: 'openssl',
    async plant(openssl) {
      const made = makeCertificates(openssl)
      const server = createServer(made.right, (_, response) => void response.end())
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => void server.close())
      const url = `https://localhost:${(server.address() as AddressInfo).port}`
      const live = await boot({ upstreams: { market: { endpoints: [url], tls: { ca: made.authority.cert } } } })
      await ask(live.url, 1)
      server.setSecureContext(made.expired)
      server.closeAllConnections()
      await ask(live.url, 6)
      return live
    },
  },
  {
    number: 4,
    name: 'tokens that have expired',
    broken: [operationRow],
    async plant() {
      const key = signingKey('ES256', 'elliptic')
      const live = await boot({
        auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: jwks(key) } },
        clients: [{ id: 'bank-a', claims: { client_id: 'bank-a' }, operations: ['market.insights'] }],
        operations: Object.fromEntries(
          allOperations.flatMap(({ id }) => (id === 'market.insights' ? [] : [[id, { auth: 'none' }]])),
        ),
      })
      const expired = signToken(key, claims({ exp: Math.floor(Date.now() / 1000) - 60 }))
      await ask(live.url, 6, { headers: { authorization: `Bearer ${expired}` } })
      return live
    },
  },
  {
    number: 5,
    name: 'a limit that is full',
    broken: [operationRow],
    async plant() {
      const release = Promise.withResolvers<void>()
      const upstream = await httpUpstream((_, response) => void release.promise.then(() => response.end()))
      const live = await boot({
        upstreams: { market: upstream.url },
        operations: { 'market.insights': { concurrency: 1 } },
      })
      const running = ask(live.url, 1).catch(() => {})
      onTestFinished(() => {
        release.resolve()
        return running
      })
      await eventually(() => upstream.begun() === 1)
      await ask(live.url, 6)
      return live
    },
  },
  {
    number: 6,
    name: 'an edit that was rejected',
    broken: ['#reloads-table tbody', '#summary li:has(.mark.warning)'],
    async plant() {
      const live = await boot({})
      live.edit(common({ upstreams: { market: 'market-b.internal:8080' } }))
      await fetch(`${live.admin}/reload`, { method: 'POST', headers: { authorization: `Bearer ${faultToken}` } })
      return live
    },
  },
  {
    number: 7,
    name: 'an open circuit breaker',
    broken: marketRows,
    async plant() {
      const upstream = await httpUpstream()
      const market = { endpoints: [upstream.url], circuitBreaker: { minRequests: 3, openFor: '1m' } }
      const live = await boot({ upstreams: { market } })
      await ask(live.url, 1)
      await upstream.close()
      await ask(live.url, 9)
      return live
    },
  },
  {
    number: 8,
    name: 'names that are gone',
    broken: ['#endpoint-market-0', '#upstreams tr.group:has(#unfold-market)'],
    isImpossible: !mountsPermitted,
    async plant() {
      const upstream = await httpUpstream()
      const [hosts, nsswitch] = [join(folder(), 'hosts'), join(folder(), 'nsswitch.conf')]
      writeFileSync(hosts, '127.0.0.1 localhost market.internal\n')
      writeFileSync(nsswitch, 'hosts: files\n')
      const market = { endpoints: [`http://market.internal:${upstream.port}`], resolve: '1s' }
      const started = await start({ upstreams: { market } }, withHostsFile(hosts, nsswitch))
      await ask(started.url, 1)
      writeFileSync(hosts, '127.0.0.1 localhost\n')
      await started.served.line(({ msg }) => msg === 'endpoint not resolved')
      return started
    },
  },
  {
    number: 9,
    name: 'an audit log on a full disk',
    broken: ['#operations', '#summary', '#records'],
    isImpossible: !mountsPermitted,
    async plant() {
      const disk = folder()
      const key = join(folder(), 'key')
      writeFileSync(key, 'k'.repeat(32))
      const audit = { file: join(disk, 'audit.log'), key: `file:${key}`, onFailure: 'refuse' }
      const started = await start({ audit }, onSmallDisk(disk))
      const { served, url } = started
      for (let sent = 0; sent < 2000 && !served.lines.some(({ msg }) => msg === 'audit cannot be written'); sent++)
        await ask(url, 1)
      await ask(url, 3)
      return started
    },
  },
  {
    number: 10,
    name: 'a Redis that is gone',
    broken: ['#limits'],
    needs: 'redis-server',
    async plant(program) {
      const redis = await startRedis(program)
      onTestFinished(() => redis.kill())
      const live = await boot({
        limits: { address: { rate: '100/s', burst: 100 }, redis: { url: redis.url, timeout: '1s' } },
      })
      await live.line(({ msg }) => msg === 'limits are shared')
      await redis.kill()
      await live.line(({ msg }) => msg === 'limits are not shared')
      return live
    },
  },
  {
    number: 11,
    name: 'bodies that are too large',
    broken: ['#operation-inventory\\.sync'],
    async plant() {
      const live = await boot({ operations: { 'inventory.sync': { maxBody: '1KiB' } } }, '/inventory/sync')
      await ask(live.url, 6, { method: 'POST', body: 'x'.repeat(2000) }, '/inventory/sync')
      return live
    },
  },
  {
    number: 12,
    name: 'an event loop that is starved',
    broken: ['#operations', '#summary'],
    async plant() {
      const started = await start({ limits: { eventLoopDelay: '100ms' } }, [])
      // Stopped for most of the time, as by another process that has the cores.
      const stop = setInterval(() => {
        started.served.signal('SIGSTOP')
        setTimeout(() => started.served.signal('SIGCONT'), 250)
      }, 300)
      onTestFinished(() => {
        clearInterval(stop)
        started.served.signal('SIGCONT')
      })
      while ((await fetch(`${started.url}/market/insights`)).status !== 503);
      await ask(started.url, 3)
      return started
    },
  },
]

/** The sentence by which docs/operating.md names the fault. */
export const causeOf = ({ number }: Fault): RegExp => symptom(number).cause
