/** Two workers, started with the real command: they serve, follow, die, are replaced and stop together. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { exchangeRaw, parseStatus, rawClient } from '../../helpers/raw-client.ts'
import { openHttpUpstream, type TestUpstream } from '../../helpers/upstream.ts'
import {
  command,
  isThere,
  kill,
  type ShownWorker,
  startWorkerGateway,
  type WorkerGateway,
} from '../../helpers/worker-gateway.ts'

const request = 'GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n'
const probe = '/healthz'
const intervalMs = 100

let gateway: WorkerGateway
let upstream: TestUpstream
let other: TestUpstream
let held: (() => void)[] | null = null
let healthy = true
let probes = 0

const settings = () => ({
  workers: 2,
  upstream: upstream.url,
  listen: { timeouts: { headers: '2s' } },
  shutdown: { wait: '300ms', deadline: '5s' },
})

beforeAll(async () => {
  upstream = await openHttpUpstream(({ url }, response) => {
    if (held === null || url === probe) response.end('first')
    else held.push(() => response.end('held'))
  })
  other = await openHttpUpstream(({ url }, response) => {
    if (url !== probe) return void response.end('other')
    probes++
    response.statusCode = healthy ? 200 : 503
    response.end()
  })
  const script = 'process.on("SIGUSR2", () => { throw new Error("planted") })'
  gateway = await startWorkerGateway(settings(), command, {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}`,
  })
})

afterAll(async () => {
  await gateway?.stop()
  await Promise.all([upstream?.close(), other?.close()])
})

const serving = async (): Promise<readonly ShownWorker[]> =>
  (await gateway.status()).workers.filter(({ state }) => state === 'serving')

/** Sends requests on so many connections, one after another: each goes to the next worker. */
const responses = async (count: number): Promise<readonly string[]> => {
  const got: string[] = []
  for (let n = 0; n < count; n++) got.push(await exchangeRaw(gateway.port, request))
  return got.map((text) => `${parseStatus(text)} ${text.split('\r\n\r\n')[1]}`)
}

/** Opens connections with a request each that gets no response until `release`. */
const hold = async (count: number) => {
  held = []
  const clients = []
  for (let n = 0; n < count; n++) {
    const client = await rawClient(gateway.port)
    client.send(request) // at once: the time for its head runs
    clients.push(client)
  }
  await expect.poll(() => held?.length).toBe(count)
  return {
    clients,
    release() {
      const all = held ?? []
      held = null
      for (const respond of all) respond()
    },
  }
}

test('connections go round: sixty are thirty each', async () => {
  const { clients, release } = await hold(60)

  const shown = (await gateway.status()).workers
  release()

  expect(shown.map(({ worker, state, inFlight }) => [worker, state, inFlight])).toEqual([
    [1, 'serving', 30],
    [2, 'serving', 30],
  ])
  for (const client of clients) expect(parseStatus(await client.until((text) => text.endsWith('held')))).toBe(200)
  for (const client of clients) client.close()
})

test('the name in Via is one for all workers, or a loop through two would go round once more', async () => {
  const names = new Set<string | undefined>()
  for (let n = 0; n < 4; n++) names.add(/^via: (.*)\r$/im.exec(await exchangeRaw(gateway.port, request))?.[1])

  expect([...names]).toEqual([expect.stringMatching(/^1\.1 lender-gateway-[0-9a-f]{8}$/)])
})

test('a head that does not end is not waited for: Node watches over connections that were handed over', async () => {
  const client = await rawClient(gateway.port)
  client.send('GET /market/insights HTTP/1.1\r\nHost:')

  expect(parseStatus((await client.ended()).received)).toBe(408)
})

test('a reload reaches all workers', async () => {
  gateway.edit({ ...settings(), upstream: other.url })

  const { status } = await gateway.ask('POST', '/reload')

  const { config, workers } = await gateway.status()
  expect(status).toBe(200)
  expect(workers.map((worker) => worker.config)).toEqual([config.hash, config.hash])
  expect(await responses(4)).toEqual(Array(4).fill('200 other'))
})

test('the kill switch reaches all workers, and ends in all of them', async () => {
  const override = JSON.stringify({ operation: 'market.insights' })
  await gateway.ask('POST', '/operations/refuse', override)
  const rejected = await responses(4)
  await gateway.ask('POST', '/operations/serve', override)

  expect(rejected.map((response) => response.slice(0, 3))).toEqual(Array(4).fill('503'))
  expect(await responses(4)).toEqual(Array(4).fill('200 other'))
})

test('an endpoint is probed once, however many workers there are, and all of them get the verdict', async () => {
  const healthCheck = { path: probe, interval: `${intervalMs}ms`, healthyAfter: 1, unhealthyAfter: 1 }
  gateway.edit({
    ...settings(),
    defaults: { healthCheck },
    upstreams: { market: { endpoints: [upstream.url, other.url] } },
  })
  await gateway.ask('POST', '/reload')
  const [since, before] = [performance.now(), probes]
  await expect.poll(() => probes - before).toBeGreaterThan(10)
  const max = (performance.now() - since) / intervalMs + 2
  const counted = probes - before

  healthy = false
  await gateway.line(({ msg, endpoint }) => msg === 'endpoint down' && endpoint === other.url)
  const without = await responses(8)
  healthy = true
  await gateway.line(({ msg, endpoint }) => msg === 'endpoint up' && endpoint === other.url)

  expect(counted).toBeLessThan(max)
  expect(new Set(without)).toEqual(new Set(['200 first']))
  gateway.edit(settings())
  await gateway.ask('POST', '/reload')
})

describe('a worker that ends', () => {
  test('takes down what it was serving and nothing else, and another one takes its place', async () => {
    const { clients, release } = await hold(10)
    const [first] = await serving()
    const pid = first?.pid ?? 0
    onTestFinished(() => release())

    kill(pid, 'SIGKILL')
    const ended = await gateway.line((line) => line.msg === 'worker ended' && line.pid === pid)
    await expect.poll(serving).toHaveLength(2)
    release()
    const ends = await Promise.all(
      clients.map((client) =>
        client
          .until((text) => text.endsWith('held'))
          .then(
            () => 'answered',
            () => 'cut',
          ),
      ),
    )

    expect(ended).toMatchObject({ level: 50, worker: first?.worker, signal: 'SIGKILL', nextStartMs: 0 })
    expect(ends.sort()).toEqual([...Array(5).fill('answered'), ...Array(5).fill('cut')])
    expect((await serving()).map(({ restarts }) => restarts).sort()).toEqual([0, 1])
    expect(await responses(4)).toEqual(Array(4).fill('200 first'))
  })

  test('of an uncaught error says so in the log', async () => {
    const [, second] = await serving()
    kill(second?.pid ?? 0, 'SIGUSR2')

    const uncaught = await gateway.line(({ msg }) => msg === 'uncaught error')
    const ended = await gateway.line((line) => line.msg === 'worker ended' && line.pid === second?.pid)

    expect(uncaught).toMatchObject({ level: 60, worker: second?.worker, err: { message: 'planted' } })
    expect(ended).toMatchObject({ code: 1, signal: null })
    await expect.poll(serving).toHaveLength(2)
  })
})

test('signals that a terminal sends to all processes are handled by the primary alone', async () => {
  const before = await serving()
  for (const { pid } of before) for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) kill(pid ?? 0, signal)

  expect(await responses(4)).toEqual(Array(4).fill('200 first'))
  expect((await serving()).map(({ pid }) => pid)).toEqual(before.map(({ pid }) => pid))
})

test('after SIGTERM they finish what runs, end every connection, and exit', async () => {
  const { clients, release } = await hold(6)
  const workers = await serving()

  gateway.signal('SIGTERM')
  await gateway.line(({ msg }) => msg === 'stopping')
  release()
  const answered = await Promise.all(clients.map((client) => client.ended()))

  for (const { received } of answered) expect(received).toMatch(/^HTTP\/1.1 200 .*\r\nconnection: close\r\n.*held$/is)
  expect(await gateway.ended).toBe(0)
  expect(workers.map(({ pid }) => isThere(pid ?? 0))).toEqual([false, false])
  expect(
    gateway.lines.filter(({ msg, level }) => msg !== 'exchange' && Number(level) >= 50).map(({ msg }) => msg),
  ).toEqual(['worker ended', 'uncaught error', 'worker ended'])
})
