/** The faults of docs/operating.md, each in a gateway that was healthy first. */
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { allOperations } from '../../../../src/operations.ts'
import { folderWith } from '../../../core/config/helper.ts'
import { makeCertificates } from '../../../helpers/certificates.ts'
import { contractFile } from '../../../helpers/contract.ts'
import { configText, type Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { mountsPermitted, onSmallDisk, withHostsFile } from '../../../helpers/mount-namespace.ts'
import { needProgram } from '../../../helpers/program.ts'
import { startRedis } from '../../../helpers/redis.ts'
import { serve, waitForListening } from '../../../helpers/serve-process.ts'
import { audience, claims, issuer, jwks, signingKey, signToken } from '../../../helpers/tokens.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

/** A gateway that is well until it fails. */
interface FaultyGateway {
  /** The URL of the admin listener. */
  readonly admin: string
  fail(): Promise<unknown>
}

/** A fault: its number is that of its symptom in docs/operating.md. */
export interface Fault {
  readonly number: number
  readonly name: string
  /** Elements of the page about the fault: none may be green. */
  readonly broken: readonly string[]
  readonly needs?: 'openssl' | 'redis-server'
  readonly isOfProcess?: boolean
  readonly says?: RegExp
  /** `common`: unrelated settings. */
  plant(common: Settings, program: string): Promise<FaultyGateway>
}

type SendRequests = (times: number, init?: RequestInit, path?: string) => Promise<void>

const senderTo =
  (url: string): SendRequests =>
  async (times, init = {}, path = '/market/insights') => {
    for (let n = 0; n < times; n++) await (await fetch(url + path, init)).arrayBuffer()
  }

/** Boots a gateway in which all but one path has been asked, and is well. */
const boot = async (settings: Settings, unasked = '/market/insights') => {
  const { url: upstream } = await httpUpstream()
  const live = await bootLiveGateway({ upstream, ...settings })
  const send = senderTo(live.url)
  for (const { method, path } of allOperations) if (path !== unasked) await send(1, { method }, path)
  return { ...live, send }
}

/** Starts a gateway as a process, by the command that starts another one. */
export const startProcess = async (settings: Settings, through: readonly string[]) => {
  const { url: upstream } = await httpUpstream()
  const file = join(folderWith({}), 'gateway.yaml')
  writeFileSync(file, configText({ upstream, ...settings, shutdown: { wait: '0ms' } }))
  const served = serve(file, {}, through)
  const url = `http://127.0.0.1:${await waitForListening(served)}`
  const { port } = await served.line(({ msg }) => msg === 'admin listening')
  return { served, url, admin: `http://127.0.0.1:${port}`, send: senderTo(url) }
}

const operationRow = '#operation-market\\.insights'
const marketRows = [operationRow, '#endpoint-market-0', '#upstreams tr.group:has(#unfold-market)', '#summary']

/** An upstream of market that is closed when it fails, and is asked so often then. */
const closing = async (common: Settings, times: number, more: object = {}) => {
  const upstream = await httpUpstream()
  const { admin, send } = await boot({ ...common, upstreams: { market: { endpoints: [upstream.url], ...more } } })
  await send(1)
  return { admin, fail: () => upstream.close().then(() => send(times)) }
}

/** The faults, in the order of docs/operating.md. */
export const faults: readonly Fault[] = [
  { number: 1, name: 'a dead endpoint', broken: marketRows, plant: (common) => closing(common, 6) },
  {
    ...{ number: 2, name: 'a slow endpoint', broken: marketRows },
    says: /http:\S+ did not respond within timeouts\.headers \(300ms\)$/,
    async plant(common) {
      const upstream = await httpUpstream(() => {})
      const market = { endpoints: [upstream.url], timeouts: { headers: '300ms' } }
      const { admin, send } = await boot({ ...common, upstreams: { market } })
      return { admin, fail: () => Promise.all(Array.from({ length: 6 }, () => send(1))) }
    },
  },
  {
    ...{ number: 3, name: 'a certificate that has expired', broken: marketRows, needs: 'openssl' },
    async plant(common, openssl) {
      const made = makeCertificates(openssl)
      const server = createServer(made.right, (_, response) => void response.end())
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => void server.close())
      const url = `https://localhost:${(server.address() as AddressInfo).port}`
      const market = { endpoints: [url], tls: { ca: made.authority.cert } }
      const { admin, send } = await boot({ ...common, upstreams: { market } })
      await send(1)
      const fail = () => {
        server.setSecureContext(made.expired)
        server.closeAllConnections()
        return send(6)
      }
      return { admin, fail }
    },
  },
  {
    ...{ number: 4, name: 'tokens that have expired', broken: [operationRow] },
    says: /: 6 requests were rejected .*, from 127\.0\.0\.1$/,
    async plant(common) {
      const key = signingKey('ES256', 'elliptic')
      const others = allOperations.filter(({ id }) => id !== 'market.insights')
      const { admin, send } = await boot({
        ...common,
        auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: jwks(key) } },
        clients: [{ id: 'bank-a', claims: { client_id: 'bank-a' }, operations: ['market.insights'] }],
        operations: Object.fromEntries(others.map(({ id }) => [id, { auth: 'none' }])),
      })
      const by = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
      const expired = signToken(key, claims({ exp: Math.floor(Date.now() / 1000) - 60 }))
      return { admin, fail: () => send(6, by(expired)) }
    },
  },
  {
    ...{ number: 5, name: 'a limit that is full', broken: [operationRow] },
    says: /: 1 request was rejected .*, 1 of 1 in flight now$/,
    async plant(common) {
      const release = Promise.withResolvers<void>()
      const upstream = await httpUpstream((_, response) => void release.promise.then(() => response.end()))
      const operations = { 'market.insights': { concurrency: 1 } }
      const { admin, send } = await boot({ ...common, upstreams: { market: upstream.url }, operations })
      const fail = async () => {
        const running = send(1)
        onTestFinished(() => {
          release.resolve()
          return running
        })
        await expect.poll(() => upstream.begun()).toBe(1)
        await send(1)
      }
      return { admin, fail }
    },
  },
  {
    ...{ number: 6, name: 'an edit that was rejected' },
    broken: ['#reloads-table tbody', '#summary li:has(.mark.warning)'],
    async plant(common) {
      const live = await boot(common)
      const fail = () => {
        live.edit({ ...common, upstreams: { market: 'market-b.internal:8080' } })
        return live.gateway.reload('request')
      }
      return { admin: live.admin, fail }
    },
  },
  {
    ...{ number: 7, name: 'an open circuit breaker', broken: marketRows },
    plant: (common) => closing(common, 9, { circuitBreaker: { minRequests: 3, openFor: '1m' } }),
  },
  {
    ...{ number: 8, name: 'names that are gone', isOfProcess: true },
    broken: ['#endpoint-market-0', '#upstreams tr.group:has(#unfold-market)'],
    async plant(common) {
      const upstream = await httpUpstream()
      const [hosts, nsswitch] = [join(folderWith({}), 'hosts'), join(folderWith({}), 'nsswitch.conf')]
      writeFileSync(hosts, '127.0.0.1 localhost market.internal\n')
      writeFileSync(nsswitch, 'hosts: files\n')
      const market = { endpoints: [`http://market.internal:${upstream.port}`], resolve: '1s' }
      const through = withHostsFile(hosts, nsswitch)
      const { admin, served, url, send } = await startProcess({ ...common, upstreams: { market } }, through)
      await send(1)
      const fail = async () => {
        writeFileSync(hosts, '127.0.0.1 localhost\n')
        await served.line(({ msg }) => msg === 'endpoint not resolved')
        expect((await fetch(`${url}/market/insights`)).status).toBe(200)
      }
      return { admin, fail }
    },
  },
  {
    ...{ number: 9, name: 'an audit log on a full disk', isOfProcess: true },
    broken: ['#operations', '#summary', '#records'],
    async plant(common) {
      const [disk, key] = [folderWith({}), join(folderWith({}), 'key')]
      writeFileSync(key, 'k'.repeat(32))
      const audit = { file: join(disk, 'audit.log'), key: `file:${key}`, onFailure: 'reject' }
      const { admin, served, url, send } = await startProcess({ ...common, audit }, onSmallDisk(disk))
      await send(1)
      const isFull = () => served.lines.some(({ msg }) => msg === 'audit cannot be written')
      const fail = async () => {
        for (let sent = 0; sent < 2000 && !isFull(); sent++) await send(1)
        expect((await fetch(`${url}/market/insights`)).status).toBe(503)
        await send(3)
      }
      return { admin, fail }
    },
  },
  {
    ...{ number: 10, name: 'a Redis that is gone', broken: ['#limits'], needs: 'redis-server' },
    async plant(common, program) {
      const redis = await startRedis(program)
      onTestFinished(() => redis.kill())
      const limits = { address: { rate: '100/s', burst: 100 }, redis: { url: redis.url, timeout: '1s' } }
      const live = await boot({ ...common, limits })
      await live.line(({ msg }) => msg === 'limits are shared')
      const fail = async () => {
        await redis.kill()
        await live.line(({ msg }) => msg === 'limits are not shared')
      }
      return { admin: live.admin, fail }
    },
  },
  {
    ...{ number: 11, name: 'bodies that are too large', broken: ['#operation-inventory\\.sync'] },
    says: /: 6 requests were rejected with 413/,
    async plant(common) {
      const operations = { 'inventory.sync': { maxBody: '1KiB' } }
      const { admin, send } = await boot({ ...common, operations }, '/inventory/sync')
      return { admin, fail: () => send(6, { method: 'POST', body: 'x'.repeat(1025) }, '/inventory/sync') }
    },
  },
  {
    ...{ number: 12, name: 'an event loop that is starved', broken: ['#operations', '#summary'], isOfProcess: true },
    async plant(common) {
      const { admin, served, url, send } = await startProcess({ ...common, limits: { eventLoopDelay: '100ms' } }, [])
      const fail = async () => {
        // Stopped for most of the time, as by another process that has the cores.
        const stop = setInterval(() => {
          served.signal('SIGSTOP')
          setTimeout(() => served.signal('SIGCONT'), 250)
        }, 300)
        onTestFinished(() => {
          clearInterval(stop)
          served.signal('SIGCONT')
        })
        while ((await fetch(`${url}/market/insights`)).status !== 503);
        await send(3)
      }
      return { admin, fail }
    },
  },
  {
    ...{ number: 13, name: 'an upstream that breaks the contract', broken: [] },
    says: /^86 % of the responses of http:\S+ break the contract since (?!.*Zebra)/,
    async plant(common) {
      let grade = 'A'
      const upstream = await httpUpstream((_, response) => {
        response.writeHead(200, ['Content-Type', 'application/json']).end(JSON.stringify({ grade }))
      })
      const contract = { file: contractFile() }
      const { admin, send } = await boot({ ...common, upstream: upstream.url, contract }, '/valuation/score')
      const headers = { 'Content-Type': 'application/json' }
      const post = (times: number) => send(times, { method: 'POST', headers, body: '{"id":"a"}' }, '/valuation/score')
      await post(1)
      const fail = () => {
        grade = 'Zebra'
        return post(6)
      }
      return { admin, fail }
    },
  },
  {
    ...{ number: 14, name: 'POSTs whose outcomes are unknown', broken: [] },
    async plant(common) {
      const upstream = await httpUpstream((_, response) => response.writeHead(500).end())
      const [path, operations] = ['/financing/pre-approval', { 'financing.pre-approval': { idempotency: true } }]
      const { admin, send } = await boot({ ...common, upstreams: { financing: upstream.url }, operations }, path)
      const post = (key: string) => send(1, { method: 'POST', headers: { 'Idempotency-Key': key }, body: 'a' }, path)
      const fail = async () => {
        for (let n = 0; n < 10; n++) await post(`k-${n}`)
      }
      return { admin, fail }
    },
  },
]

const programs = { openssl: await needProgram('openssl'), 'redis-server': await needProgram('redis-server') }

/** The program that a fault needs; null: it cannot be made here. */
export const programFor = ({ needs, number }: Fault): string | null => {
  if ((number === 8 || number === 9) && !mountsPermitted) return null
  return needs === undefined ? '' : programs[needs].path
}
