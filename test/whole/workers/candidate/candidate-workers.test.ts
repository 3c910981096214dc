/** A candidate with several workers: probed once, known to all of them, and the same after each of their deaths. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openHttpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'
import { startWorkerGateway, type WorkerGateway } from '../../../helpers/worker-gateway.ts'

interface SideStatus {
  readonly endpoints: readonly { readonly url: string; readonly state: string; readonly requests: number }[]
}
interface Market extends SideStatus {
  readonly candidate: SideStatus | null
}

let primary: TestUpstream
let candidate: TestUpstream
let gateway: WorkerGateway
let isWell = true
const wait = { timeout: 60_000 }

const settings = (more: object = {}) => ({
  upstreams: {
    market: {
      endpoints: [primary.url],
      healthCheck: { path: '/health', interval: '100ms', unhealthyAfter: 1, healthyAfter: 1 },
      ...more,
    },
  },
})
const withCandidate = () => settings({ candidate: candidate.url })

const market = async (): Promise<Market> =>
  (JSON.parse((await gateway.ask('GET', '/status')).body) as { upstreams: { market: Market } }).upstreams.market
const candidateState = async () => (await market()).candidate?.endpoints[0]?.state

const send = (): Promise<number> =>
  fetch(`http://127.0.0.1:${gateway.port}/market/insights`, { headers: { Connection: 'close' } }).then(
    ({ status }) => status,
  )
const sendSome = () => Promise.all(Array.from({ length: 8 }, send))

beforeAll(async () => {
  primary = await openHttpUpstream()
  candidate = await openHttpUpstream((_, response) => void response.writeHead(isWell ? 200 : 503).end())
  gateway = await startWorkerGateway(withCandidate())
}, 120_000)
afterAll(async () => {
  await gateway.stop()
  await Promise.all([primary.close(), candidate.close()])
})

test('every worker knows it, and none of them sends it a request', async () => {
  expect(await sendSome()).toEqual(Array.from({ length: 8 }, () => 200))
  await expect.poll(async () => (await market()).endpoints[0]?.requests, wait).toBe(8)

  expect((await market()).candidate?.endpoints).toMatchObject([{ url: candidate.url, state: 'up', requests: 0 }])
  expect(new Set(candidate.requests.map(({ url }) => url))).toEqual(new Set(['/health']))
}, 120_000)

test('a verdict of the process that probes holds in a worker that replaces another', async () => {
  isWell = false
  await expect.poll(candidateState, wait).toBe('down')
  const [first] = (await gateway.status()).workers

  process.kill(first?.pid ?? Number.NaN, 'SIGKILL')
  await expect
    .poll(async () => (await gateway.status()).workers.map(({ state, restarts }) => `${state} ${restarts}`), wait)
    .toEqual(['serving 1', 'serving 0'])

  expect(await candidateState()).toBe('down')
  expect((await gateway.status()).ready).toBe(true)
  expect(await sendSome()).toEqual(Array.from({ length: 8 }, () => 200))
  isWell = true
  await expect.poll(candidateState, wait).toBe('up')
}, 120_000)

test('it is drained in all workers, and ready again in all', async () => {
  const body = JSON.stringify({ group: 'market', url: candidate.url })

  const drained = await gateway.ask('POST', '/endpoints/drain', body)
  const stateThen = await candidateState()
  await gateway.ask('POST', '/endpoints/ready', body)

  expect([drained.status, stateThen]).toEqual([200, 'draining'])
  expect(await candidateState()).toBe('up')
}, 120_000)

test('an edit takes it out of all workers, and brings it back', async () => {
  gateway.edit(settings())
  await gateway.ask('POST', '/reload')
  const without = (await market()).candidate
  const probed = candidate.begun()
  const enough = primary.begun() + 5
  await expect.poll(primary.begun, wait).toBeGreaterThanOrEqual(enough)
  const since = candidate.begun() - probed
  gateway.edit(withCandidate())
  await gateway.ask('POST', '/reload')

  expect(without).toBeNull()
  expect(since).toBeLessThanOrEqual(1) // one may have been on its way
  expect((await market()).candidate?.endpoints).toMatchObject([{ state: 'up' }])
}, 120_000)
