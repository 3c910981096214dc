/**
 * Two workers, in one gateway for all tests: they serve, follow, hang, die, are replaced and stop together. SIGSTOP
 * makes an event loop stand still: to every other process that is the same.
 */
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { heldBackHint, notAnsweringHint } from '../../../src/core/runtime/proxy-server.ts'
import { sendPipelined } from '../../helpers/pipelined-client.ts'
import { exchangeRaw, parseStatus, type RawClient, rawClient } from '../../helpers/raw-client.ts'
import { drill, test } from '../../helpers/speed.ts'
import { openHttpUpstream, type TestUpstream } from '../../helpers/upstream.ts'
import {
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
  upstreams: { leads: { endpoints: [upstream.url, `${upstream.url}/b`] } },
  listen: { maxConnections: 20 },
  log: { buffer: '64KiB' },
  shutdown: { wait: '300ms', deadline: '5s' },
})

beforeAll(async () => {
  upstream = await openHttpUpstream(({ url }, response) => {
    if (held === null || url === probe) response.end('first')
    else held.push(() => response.end('first'))
  })
  other = await openHttpUpstream(({ url }, response) => {
    if (url !== probe) return void response.end('other')
    probes++
    response.statusCode = healthy ? 200 : 503
    response.end()
  })
  const script = fileURLToPath(new URL('short-timeouts.ts', import.meta.url))
  const planted = 'process.on("SIGUSR2", () => { throw new Error("planted") })'
  gateway = await startWorkerGateway(settings(), [script], {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(planted)}`,
  })
})

afterAll(async () => {
  await gateway?.stop()
  await Promise.all([upstream?.close(), other?.close()])
})

const workers = async (): Promise<readonly ShownWorker[]> => (await gateway.status()).workers

const states = async (): Promise<readonly string[]> => (await workers()).map(({ state }) => state)

const pids = async (): Promise<readonly number[]> => (await workers()).map(({ pid }) => pid ?? 0)

const firstPid = async (): Promise<number> => (await pids())[0] ?? 0

const untilBothServe = () => expect.poll(states).toEqual(['serving', 'serving'])

/** Reloads, however slow the machine is just now. */
const reload = async (edited: object): Promise<void> => {
  gateway.edit({ ...settings(), ...edited })
  await expect.poll(async () => (await gateway.ask('POST', '/reload')).status).toBe(200)
}

/** Sends a request on two connections, one after the other: one goes to each worker. */
const askBoth = async (sent = request): Promise<readonly string[]> => {
  const got = [await exchangeRaw(gateway.port, sent), await exchangeRaw(gateway.port, sent)]
  return got.map((text) => `${parseStatus(text)} ${text.split('\r\n\r\n')[1]}`)
}

const statusesOfBoth = async (): Promise<readonly number[]> =>
  (await askBoth()).map((response) => Number(response.slice(0, 3)))

/** Opens connections with a request each that gets no response until `release`. */
const hold = async (count: number) => {
  held = []
  const clients: RawClient[] = []
  for (let n = 0; n < count; n++) {
    const client = await rawClient(gateway.port)
    client.send(request)
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

/** Waits for the response of each client. Returns how each ended. */
const outcomesOf = async (clients: readonly RawClient[]): Promise<readonly string[]> => {
  const outcomes = clients.map((client) =>
    client
      .until((text) => text.endsWith('first'))
      .then(
        () => 'answered',
        () => 'closed',
      ),
  )
  const ends = await Promise.all(outcomes)
  for (const client of clients) client.close()
  return ends.sort()
}

test('the name in Via is one for all workers, or a loop through two would go round once more', async () => {
  const names = new Set<string | undefined>()
  for (let n = 0; n < 2; n++) names.add(/^via: (.*)\r$/im.exec(await exchangeRaw(gateway.port, request))?.[1])

  expect([...names]).toEqual([expect.stringMatching(/^1\.1 lender-gateway-[0-9a-f]{8}$/)])
})

test('a worker that hangs costs one connection at most, and neither /status nor /ready', async () => {
  const pid = await firstPid()
  kill(pid, 'SIGSTOP')

  const clients = await Promise.all(Array.from({ length: 6 }, () => rawClient(gateway.port)))
  for (const client of clients) client.send(request)
  const answered = (): number => clients.filter((client) => client.received().endsWith('first')).length
  await expect.poll(answered).toBe(5)
  await expect.poll(states).toEqual(['not answering', 'serving'])
  const { workers, findings } = await gateway.status()
  const hung = findings.find(({ about }) => about === 'workers')
  const ready = await gateway.ask('GET', '/ready')
  kill(pid, 'SIGCONT')

  expect(await outcomesOf(clients)).toEqual(Array(6).fill('answered'))
  expect(Date.parse(hung?.since ?? '')).toBeGreaterThan(Date.parse(workers[0]?.startedAt ?? ''))
  expect(ready.status).toBe(200)
})

test('an edit that one worker cannot prepare is applied by none, says why, and is tried again', async () => {
  const { hash } = (await gateway.status()).config
  const pid = await firstPid()
  gateway.edit({ ...settings(), operations: { 'market.insights': { state: 'refuse' } } })

  kill(pid, 'SIGSTOP')
  const rejected = await gateway.ask('POST', '/reload')
  const served = await Promise.any([exchangeRaw(gateway.port, request), exchangeRaw(gateway.port, request)])
  const stopped = await gateway.status()
  kill(pid, 'SIGCONT')
  await expect.poll(async () => (await gateway.status()).config.loadedBy).toBe('preflight')

  const found = `worker 1 (process ${pid}) did not answer within 2s`
  expect(rejected.status).toBe(503)
  expect(JSON.parse(rejected.body)).toMatchObject({
    code: 'workers-not-answering',
    detail: `${found}: ${heldBackHint}`,
    hash,
    nextTry: expect.any(String),
    problems: [{ found, hint: heldBackHint }],
  })
  expect(parseStatus(served)).toBe(200)
  expect(stopped.config.hash).toBe(hash)
  expect(await statusesOfBoth()).toEqual([503, 503])
  await reload({})
})

test('an override that one worker cannot prepare leaves the one before it', async () => {
  const override = JSON.stringify({ operation: 'market.insights', ttl: '1h' })
  const pid = await firstPid()
  await gateway.ask('POST', '/operations/refuse', override)
  kill(pid, 'SIGSTOP')
  const { status } = await gateway.ask('POST', '/operations/serve', override)
  kill(pid, 'SIGCONT')
  await untilBothServe()

  const statuses = await statusesOfBoth()
  const shown = Object.keys((await gateway.status()).operations)
  await gateway.ask('POST', '/operations/serve', override)

  expect([status, ...statuses]).toEqual([503, 503, 503])
  expect(shown).toEqual(['market.insights'])
  expect(await askBoth()).toEqual(['200 first', '200 first'])
})

test('the limit of connections holds for all workers together', async () => {
  const outcomes = async (): Promise<readonly string[]> => {
    const clients = await Promise.all(Array.from({ length: 24 }, () => rawClient(gateway.port)))
    for (const client of clients) client.send(request)
    return outcomesOf(clients)
  }

  // A connection counts until its worker has said that it is closed, and so may one of the test before.
  await expect.poll(outcomes, { interval: 500 }).toEqual([...Array(20).fill('answered'), ...Array(4).fill('closed')])
})

test('when all workers hang the gateway is not ready, and responds to operators all the same', async () => {
  const all = await pids()
  for (const pid of all) kill(pid, 'SIGSTOP')
  const clients = await Promise.all([rawClient(gateway.port), rawClient(gateway.port)])
  await expect.poll(async () => (await gateway.ask('GET', '/ready')).status).toBe(503)

  const shown = await gateway.status()
  for (const pid of all) kill(pid, 'SIGCONT')
  await expect.poll(async () => (await gateway.ask('GET', '/ready')).status).toBe(200)

  expect([shown.state, shown.ready]).toEqual(['not serving', false])
  for (const client of clients) client.close()
})

test('a reload reaches all workers, and a head that does not end is not waited for in any of them', async () => {
  await reload({ upstream: other.url, listen: { timeouts: { headers: '1s' } } })

  const { config, workers } = await gateway.status()
  const clients = [await rawClient(gateway.port), await rawClient(gateway.port)]
  for (const client of clients) client.send('GET /market/insights HTTP/1.1\r\nHost:')
  const responses = await Promise.all(clients.map((client) => client.ended()))

  expect(workers.map((worker) => worker.config)).toEqual([config.hash, config.hash])
  // Node watches over connections that were handed over, too.
  expect(responses.map(({ received }) => parseStatus(received))).toEqual([408, 408])
  expect(await askBoth()).toEqual(['200 other', '200 other'])
})

test('all workers follow an edit of the level of the log', async () => {
  const named = (id: string): string => request.replace('Host', `X-Request-Id: ${id}\r\nHost`)
  await reload({ log: { ...settings().log, level: 'warn' } })
  await askBoth(named('quiet'))
  await reload({ log: { ...settings().log, level: 'info' } })
  await askBoth(named('heard'))
  const heard = () => gateway.lines.filter(({ requestId }) => requestId === 'heard')

  // What a worker writes comes in the order in which it was written.
  await expect.poll(heard).toHaveLength(2)
  expect(gateway.lines.filter(({ requestId }) => requestId === 'quiet')).toEqual([])
})

test('an endpoint is probed once, however many workers there are, and all of them get the verdict', async () => {
  const healthCheck = { path: probe, interval: `${intervalMs}ms`, healthyAfter: 1, unhealthyAfter: 1 }
  await reload({ defaults: { healthCheck }, upstreams: { market: { endpoints: [upstream.url, other.url] } } })
  const [since, before] = [performance.now(), probes]
  await expect.poll(() => probes - before).toBeGreaterThan(5)
  const max = (performance.now() - since) / intervalMs + 2
  const counted = probes - before

  healthy = false
  await gateway.line(({ msg, endpoint }) => msg === 'endpoint down' && endpoint === other.url)
  const without = [...(await askBoth()), ...(await askBoth())]
  healthy = true
  await gateway.line(({ msg, endpoint }) => msg === 'endpoint up' && endpoint === other.url)

  expect(counted).toBeLessThan(max)
  expect(new Set(without)).toEqual(new Set(['200 first']))
  await reload({})
})

test('a worker that ends takes down what it was serving and nothing else, and another one takes its place', async () => {
  const { clients, release } = await hold(10)
  const [first] = await workers()
  onTestFinished(() => release())

  kill(first?.pid ?? 0, 'SIGKILL')
  const ended = await gateway.line((line) => line.msg === 'worker ended' && line.pid === first?.pid)
  await untilBothServe()
  release()

  expect(first?.inFlight).toBe(5)
  expect(ended).toMatchObject({ level: 50, worker: 1, signal: 'SIGKILL', nextStartMs: 0 })
  expect(await outcomesOf(clients)).toEqual([...Array(5).fill('answered'), ...Array(5).fill('closed')])
  expect((await workers()).map(({ restarts }) => restarts)).toEqual([1, 0])
  expect(await askBoth()).toEqual(['200 first', '200 first'])
})

test('when all end at once the gateway says why, is not ready until another serves, and clients that connect meanwhile wait for that', async () => {
  const [first = 0, second = 0] = await pids()
  kill(first, 'SIGKILL')
  kill(second, 'SIGKILL')
  // Another process takes far longer to start than a question takes.
  const isReady = async () => (await gateway.ask('GET', '/ready')).status
  await expect.poll(isReady, { interval: 5 }).toBe(503)
  const response = exchangeRaw(gateway.port, request)
  gateway.edit({ ...settings(), operations: { 'market.insights': { state: 'refuse' } } })
  const reloaded = await gateway.ask('POST', '/reload')
  await untilBothServe()
  const { workers, config } = await gateway.status()

  for (const pid of [first, second])
    expect(await gateway.line((line) => line.msg === 'worker ended' && line.pid === pid)).toMatchObject({
      signal: 'SIGKILL',
    })
  expect(reloaded.status).toBe(200)
  expect([200, 503]).toContain(parseStatus(await response)) // before the edit, or after it
  expect(workers.map((worker) => worker.config)).toEqual([config.hash, config.hash])
  await reload({})
})

test('an uncaught error of a worker is logged, ends it with 1, and another serves', async () => {
  const [, second = 0] = await pids()

  kill(second, 'SIGUSR2')

  const ended = await gateway.line((line) => line.msg === 'worker ended' && line.pid === second)
  expect(ended).toMatchObject({ code: 1, signal: null })
  expect(gateway.lines).toContainEqual(
    expect.objectContaining({
      msg: 'uncaught error',
      level: 60,
      worker: 2,
      err: expect.objectContaining({ message: 'planted' }),
    }),
  )
  await untilBothServe()
})

test('signals that a terminal sends to all processes are handled by the primary alone', async () => {
  const before = await pids()
  for (const pid of before) for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) kill(pid, signal)

  expect(await askBoth()).toEqual(['200 first', '200 first'])
  expect(await pids()).toEqual(before)
})

test('after SIGTERM they finish what runs, end every connection, and exit', async () => {
  const { clients, release } = await hold(6)
  const serving = await pids()

  gateway.signal('SIGTERM')
  await gateway.line(({ msg }) => msg === 'stopping')
  release()
  const answered = await Promise.all(clients.map((client) => client.ended()))

  for (const { received } of answered) expect(received).toMatch(/^HTTP\/1.1 200 .*\r\nconnection: close\r\n.*first$/is)
  expect(await gateway.ended).toBe(0)
  expect(serving.map(isThere)).toEqual([false, false])
})

drill(
  'an override that one worker cannot prepare is applied by none, not even by one that starts meanwhile',
  async () => {
    const [first = 0, second = 0] = await pids()
    kill(first, 'SIGSTOP')
    const response = gateway.ask('POST', '/operations/refuse', JSON.stringify({ operation: 'market.insights' }))
    await expect.poll(async () => Object.keys((await gateway.status()).operations)).toEqual(['market.insights'])

    kill(second, 'SIGKILL')
    await gateway.line((line) => line.msg === 'worker ended' && line.pid === second)
    const { status, body } = await response
    kill(await firstPid(), 'SIGCONT')
    await untilBothServe()
    const statuses = await statusesOfBoth()

    expect(status).toBe(503)
    expect(JSON.parse(body)).toMatchObject({
      code: 'workers-not-answering',
      detail: `worker 1 (process ${first}) did not answer within 2s: ${notAnsweringHint}`,
    })
    expect(statuses).toEqual([200, 200])
  },
)

drill(
  'an override that is set again while the first is being rejected is in effect when the response says so',
  async () => {
    const override = JSON.stringify({ operation: 'market.insights', ttl: '1h' })
    kill(await firstPid(), 'SIGSTOP')
    const firstResponse = gateway.ask('POST', '/operations/refuse', override)
    await expect.poll(async () => Object.keys((await gateway.status()).operations)).toEqual(['market.insights'])
    const again = gateway.ask('POST', '/operations/refuse', override)
    const { status } = await firstResponse
    kill(await firstPid(), 'SIGCONT')
    const { status: second } = await again

    const statuses = await statusesOfBoth()
    const shown = Object.keys((await gateway.status()).operations)

    expect([status, second]).toEqual([503, 200])
    expect(statuses).toEqual([503, 503])
    expect(shown).toEqual(['market.insights'])
    await gateway.ask('POST', '/operations/serve', override)
  },
)

drill.each([
  ['drain', 'it is in effect in no worker'],
  ['ready', '1 of the workers did not answer: an ejection may go on in them, a drain goes on in all'],
])(
  'a command to %s an endpoint that one worker does not reply to is not in effect, and the response says so',
  async (state, detail) => {
    const endpoint = JSON.stringify({ group: 'leads', url: `${upstream.url}/b` })
    if (state === 'ready') await gateway.ask('POST', '/endpoints/drain', endpoint)
    const shownStates = async () => (await gateway.status()).upstreams.leads?.endpoints.map((each) => each.state)
    const before = await shownStates()

    kill(await firstPid(), 'SIGSTOP')
    const { status, body } = await gateway.ask('POST', `/endpoints/${state}`, endpoint)
    kill(await firstPid(), 'SIGCONT')
    await untilBothServe()

    expect(status).toBe(503)
    expect(JSON.parse(body)).toMatchObject({ code: 'workers-not-answering', detail: expect.stringContaining(detail) })
    expect(await shownStates()).toEqual(before)
    expect((await gateway.ask('POST', `/endpoints/${state}`, endpoint)).status).toBe(200)
    await gateway.ask('POST', '/endpoints/ready', endpoint)
  },
)

drill('a command that clears the cache in one worker alone is logged, with what it lacks', async () => {
  const from = gateway.lines.length

  kill(await firstPid(), 'SIGSTOP')
  const { status, body } = await gateway.ask('DELETE', '/cache')
  kill(await firstPid(), 'SIGCONT')
  await untilBothServe()
  const line = await gateway.line(({ msg }) => msg === 'cache cleared')

  expect(status).toBe(503)
  expect(gateway.lines.indexOf(line)).toBeGreaterThanOrEqual(from)
  expect(line).toMatchObject({ operation: null, client: null, removed: 0, incomplete: JSON.parse(body).code })
})

drill('an override that expires while one worker hangs ends as soon as all reply', async () => {
  const override = JSON.stringify({ operation: 'market.insights', ttl: '1s' })
  const nextLine = (from: number, wanted: RegExp) =>
    gateway.line((line) => gateway.lines.indexOf(line) >= from && wanted.test(line.msg))
  let from = 0
  let event = ''
  // It may expire before the worker stands still.
  while (event !== 'an override could not be ended') {
    from = gateway.lines.length
    await gateway.ask('POST', '/operations/refuse', override)
    kill(await firstPid(), 'SIGSTOP')
    event = (await nextLine(from, /^override ended|^an override/)).msg
    kill(await firstPid(), 'SIGCONT')
  }

  await nextLine(from, /^override ended/)
  const statuses = await statusesOfBoth()

  expect(statuses).toEqual([200, 200])
})

drill(
  'lines of all workers that a slow reader does not take are dropped and counted, and the others are whole',
  async () => {
    const exchanges = (): number => gateway.lines.filter(({ operation }) => operation === 'leads.pipeline').length
    let answered = 0
    const piece = {
      bytes: request.replace('/market/insights', '/leads/pipeline'),
      method: 'GET',
      onAnswer: () => void answered++,
    }

    gateway.stdout.pause()
    for (let round = 0; (await gateway.status()).log.dropped === 0 && round < 20; round++)
      await sendPipelined(
        gateway.port,
        8,
        Array.from({ length: 8 }, () => Array(50).fill(piece)),
      )
    gateway.stdout.resume()
    await gateway.line(({ msg }) => msg.startsWith('log lines dropped'))
    const { dropped } = (await gateway.status()).log
    expect(dropped).toBeGreaterThan(0)
    // A line that is dropped may be about something else than an exchange.
    await expect.poll(exchanges).toBeGreaterThanOrEqual(answered - dropped)
    expect(exchanges()).toBeLessThan(answered)
  },
)

drill('when the primary is killed, its workers end', async () => {
  const serving = await pids()
  expect(serving.map(isThere)).toEqual([true, true])

  kill(gateway.pid, 'SIGKILL')

  await expect.poll(() => serving.map(isThere)).toEqual([false, false])
})
