/** One gateway with two workers for all tests. SIGSTOP stops an event loop, like a hang. */
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { heldBackHint, notReplyingHint } from '../../../src/core/runtime/proxy-server.ts'
import { sendPipelined } from '../../helpers/pipelined-client.ts'
import { exchangeRaw, parseStatus, type RawClient, rawClient } from '../../helpers/raw-client.ts'
import { drill, test } from '../../helpers/speed.ts'
import { openHttpUpstream, type TestUpstream } from '../../helpers/upstream.ts'
import { bareGet } from '../../helpers/wire.ts'
import {
  isThere,
  kill,
  type ShownWorker,
  startWorkerGateway,
  type WorkerGateway,
} from '../../helpers/worker-gateway.ts'

const request = bareGet()
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
  listen: { maxConnections: 22, maxConnectionsPerAddress: 20 },
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
const overridden = async () => Object.keys((await gateway.status()).operations)
const readiness = async () => (await gateway.ask('GET', '/ready')).status

// Each question goes to all processes: not as often as may be, while one of them starts.
const untilBothServe = () => expect.poll(states, { interval: 250 }).toEqual(['serving', 'serving'])

/** Has the first worker stand still while something is done; afterwards both serve. */
const whileFirstHangs = async <Result>(act: (pid: number) => Promise<Result>): Promise<Result> => {
  const pid = await firstPid()
  kill(pid, 'SIGSTOP')
  const result = await act(pid)
  kill(pid, 'SIGCONT')
  await untilBothServe()
  return result
}

/** Reloads, however slow the machine is just now. */
const reload = async (edited: object): Promise<void> => {
  gateway.edit({ ...settings(), ...edited })
  await expect.poll(async () => (await gateway.ask('POST', '/reload')).status).toBe(200)
}

const outOfService = { operations: { 'leads.pipeline': { state: 'reject' } } }
const requestOfRejected = request.replace('/market/insights', '/leads/pipeline')

/** Sends a request on two connections, so to each worker. */
const askBoth = async (sent = request): Promise<readonly string[]> => {
  const got = [await exchangeRaw(gateway.port, sent), await exchangeRaw(gateway.port, sent)]
  return got.map((text) => `${parseStatus(text)} ${text.split('\r\n\r\n')[1]}`)
}

const override = (ttl: string): string => JSON.stringify({ operation: 'market.insights', ttl })

const statusesOfBoth = async (sent = request): Promise<readonly number[]> =>
  (await askBoth(sent)).map((response) => Number(response.slice(0, 3)))

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

/** The connections stay open. */
const responsesOf = async (clients: readonly RawClient[]): Promise<readonly string[]> => {
  const results = await Promise.allSettled(clients.map((client) => client.until((text) => text.endsWith('first'))))
  return results.map(({ status }) => (status === 'fulfilled' ? 'responded' : 'closed')).sort()
}

/** Closes the connections. Returns how each ended. */
const outcomesOf = async (clients: readonly RawClient[]): Promise<readonly string[]> => {
  const results = await responsesOf(clients)
  for (const client of clients) client.close()
  return results
}

test('the name in Via is one for all workers, or a loop through two would go round once more', async () => {
  const vias = [await exchangeRaw(gateway.port, request), await exchangeRaw(gateway.port, request)]
  const names = vias.map((text) => /^via: (.*)\r$/im.exec(text)?.[1])

  expect(new Set(names)).toEqual(new Set([expect.stringMatching(/^1\.1 lender-gateway-[0-9a-f]{8}$/)]))
})

test('a worker that hangs costs one connection at most, and neither /status nor /ready', async () => {
  const { clients, status, ready } = await whileFirstHangs(async () => {
    const clients = await Promise.all(Array.from({ length: 6 }, () => rawClient(gateway.port)))
    for (const client of clients) client.send(request)
    await expect.poll(() => clients.filter((client) => client.received().endsWith('first')).length).toBe(5)
    await expect.poll(states).toEqual(['not replying', 'serving'])
    return { clients, status: await gateway.status(), ready: await readiness() }
  })

  expect(await outcomesOf(clients)).toEqual(Array(6).fill('responded'))
  const hung = status.findings.find(({ about }) => about === 'workers')
  expect(Date.parse(hung?.since ?? '')).toBeGreaterThan(Date.parse(status.workers[0]?.startedAt ?? ''))
  expect(ready).toBe(200)
})

test('an edit that one worker cannot prepare is applied by none, says why, and is tried again', async () => {
  const { hash } = (await gateway.status()).config
  gateway.edit({ ...settings(), ...outOfService })

  const { rejected, found, served, meanwhile } = await whileFirstHangs(async (pid) => ({
    rejected: await gateway.ask('POST', '/reload'),
    found: `worker 1 (process ${pid}) did not reply within 2s`,
    served: await Promise.any([exchangeRaw(gateway.port, request), exchangeRaw(gateway.port, request)]),
    meanwhile: (await gateway.status()).config.hash,
  }))
  await expect.poll(async () => (await gateway.status()).config.loadedBy).toBe('preflight')

  expect(rejected.status).toBe(503)
  expect(JSON.parse(rejected.body)).toMatchObject({
    ...{ code: 'workers-not-replying', detail: `${found}: ${heldBackHint}`, hash, nextTry: expect.any(String) },
    problems: [{ found, hint: heldBackHint }],
  })
  expect([parseStatus(served), meanwhile]).toEqual([200, hash])
  expect(await statusesOfBoth(requestOfRejected)).toEqual([503, 503])
})

test('an override that one worker cannot prepare leaves the one before it', async () => {
  await gateway.ask('POST', '/operations/reject', override('1h'))
  const { status } = await whileFirstHangs(() => gateway.ask('POST', '/operations/serve', override('1h')))

  const statuses = await statusesOfBoth()
  const shown = await overridden()
  await gateway.ask('POST', '/operations/serve', override('1h'))

  expect([status, ...statuses, shown]).toEqual([503, 503, 503, ['leads.pipeline', 'market.insights']])
  expect(await askBoth()).toEqual(['200 first', '200 first'])
})

/** Has an address open connections, all at once, and send a request on each. */
const connectFrom = async (localAddress: string, count: number): Promise<readonly RawClient[]> => {
  const clients = await Promise.all(Array.from({ length: count }, () => rawClient(gateway.port, localAddress)))
  for (const client of clients) client.send(request)
  return clients
}

// The count may include a connection of the test before, until its worker reports the end.
const untilLimitsHold = () =>
  expect
    .poll(
      async () => {
        const many = await connectFrom('127.0.0.1', 22)
        await responsesOf(many)
        const others = await outcomesOf(await connectFrom('127.0.0.2', 3))
        return [await outcomesOf(many), others]
      },
      { interval: 500 },
    )
    .toEqual([
      [...Array(2).fill('closed'), ...Array(20).fill('responded')],
      ['closed', 'responded', 'responded'],
    ])

test('the limits of connections, of an address and of all, hold for all workers together', untilLimitsHold)

test('when all workers hang the gateway is not ready, and responds to operators all the same', async () => {
  const all = await pids()
  for (const pid of all) kill(pid, 'SIGSTOP')
  const clients = await Promise.all([rawClient(gateway.port), rawClient(gateway.port)])
  await expect.poll(readiness).toBe(503)

  const shown = await gateway.status()
  for (const pid of all) kill(pid, 'SIGCONT')
  await expect.poll(readiness).toBe(200)

  expect([shown.state, shown.ready]).toEqual(['not serving', false])
  for (const client of clients) client.close()
})

const twoEndpoints = () => ({
  defaults: { healthCheck: { path: probe, interval: `${intervalMs}ms`, healthyAfter: 1, unhealthyAfter: 1 } },
  upstreams: { market: { endpoints: [upstream.url, other.url] } },
})

test('a reload reaches all workers, the level of the log too, and a head that does not end is not waited for', async () => {
  const named = (id: string): string => request.replace('Host', `X-Request-Id: ${id}\r\nHost`)
  const log = { ...settings().log, level: 'warn' }
  await reload({ upstream: other.url, listen: { ...settings().listen, timeouts: { headers: '1s' } }, log })

  const { config, workers } = await gateway.status()
  const clients = [await rawClient(gateway.port), await rawClient(gateway.port)]
  for (const client of clients) client.send('GET /market/insights HTTP/1.1\r\nHost:')
  const late = await Promise.all(clients.map((client) => client.ended()))
  const responses = await askBoth(named('quiet'))
  await reload(twoEndpoints())
  await askBoth(named('heard'))

  expect(workers.map((worker) => worker.config)).toEqual([config.hash, config.hash])
  expect(late.map(({ received }) => parseStatus(received))).toEqual([408, 408])
  expect(responses).toEqual(['200 other', '200 other'])
  // What a worker writes comes in the order in which it was written.
  const lines = (id: string) => gateway.lines.filter(({ requestId }) => requestId === id)
  await expect.poll(() => lines('heard')).toHaveLength(2)
  expect(lines('quiet')).toEqual([])
})

test('an endpoint is probed once, however many workers there are, and all of them get the verdict', async () => {
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

test('a worker that ends by an uncaught error logs it, takes down what it was serving and nothing else, and another one takes its place', async () => {
  const { clients, release } = await hold(10)
  const [, second] = await workers()
  onTestFinished(() => release())

  kill(second?.pid ?? 0, 'SIGUSR2')
  const ended = await gateway.line((line) => line.msg === 'worker ended' && line.pid === second?.pid)
  release() // before their time is over, however long the next worker takes to start
  const outcomes = await outcomesOf(clients)
  await untilBothServe()

  const uncaught = gateway.lines.find(({ msg }) => msg === 'uncaught error')
  expect(uncaught).toMatchObject({ level: 60, worker: 2, err: { message: 'planted' } })
  expect(second?.inFlight).toBe(5)
  expect(ended).toMatchObject({ level: 50, worker: 2, code: 1, signal: null, nextStartMs: 0 })
  expect(outcomes).toEqual([...Array(5).fill('closed'), ...Array(5).fill('responded')])
  expect((await workers()).map(({ restarts }) => restarts)).toEqual([0, 1])
  expect(await askBoth()).toEqual(['200 first', '200 first'])
})

drill('when all end at once it says why, is not ready until another serves, and who connects then waits', async () => {
  const before = await pids()
  for (const pid of before) kill(pid, 'SIGKILL')
  await expect.poll(readiness, { interval: 5 }).toBe(503)
  const response = exchangeRaw(gateway.port, request)
  gateway.edit({ ...settings(), ...outOfService })
  const reloaded = await gateway.ask('POST', '/reload')
  await untilBothServe()
  const { workers, config } = await gateway.status()

  for (const pid of before) await gateway.line((line) => line.signal === 'SIGKILL' && line.pid === pid)
  expect(reloaded.status).toBe(200)
  expect(parseStatus(await response)).toBe(200)
  expect(workers.map((worker) => worker.config)).toEqual([config.hash, config.hash])
  // Those that ended took their connections with them.
  await untilLimitsHold()
  await reload({})
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
  const responded = await Promise.all(clients.map((client) => client.ended()))

  for (const { received } of responded)
    expect(received).toMatch(/^HTTP\/1\.1 200 .*\r\nconnection: close\r\n.*first$/is)
  expect(await gateway.ended).toBe(0)
  expect(serving.map(isThere)).toEqual([false, false])
})

drill(
  'an override that one worker cannot prepare is applied by none, not even by one that starts meanwhile',
  async () => {
    const { response, pid } = await whileFirstHangs(async (pid) => {
      const [, second = 0] = await pids()
      const response = gateway.ask('POST', '/operations/reject', override('1h'))
      await expect.poll(overridden).toEqual(['market.insights'])
      kill(second, 'SIGKILL')
      await gateway.line((line) => line.msg === 'worker ended' && line.pid === second)
      return { response: await response, pid }
    })

    expect(response.status).toBe(503)
    expect(JSON.parse(response.body)).toMatchObject({
      code: 'workers-not-replying',
      detail: `worker 1 (process ${pid}) did not reply within 2s: ${notReplyingHint}`,
    })
    expect(await statusesOfBoth()).toEqual([200, 200])
  },
)

drill(
  'an override that is set again while the first is being rejected is in effect when the response says so',
  async () => {
    const reject = () => gateway.ask('POST', '/operations/reject', override('1h'))
    const { first, again } = await whileFirstHangs(async () => {
      const firstResponse = reject()
      await expect.poll(overridden).toEqual(['market.insights'])
      const again = reject()
      return { first: (await firstResponse).status, again }
    })

    expect([first, (await again).status]).toEqual([503, 200])
    expect([await statusesOfBoth(), await overridden()]).toEqual([[503, 503], ['market.insights']])
    await gateway.ask('POST', '/operations/serve', override('1h'))
  },
)

drill('a command that clears the cache in one worker alone is logged, with what it lacks', async () => {
  await reload({ operations: { 'market.insights': { cache: {} } } })
  const from = gateway.lines.length

  const { status, body } = await whileFirstHangs(() => gateway.ask('DELETE', '/cache'))
  await reload({})
  const line = await gateway.line((each) => each.msg === 'cache cleared' && gateway.lines.indexOf(each) >= from)

  expect(status).toBe(503)
  expect(line).toMatchObject({ operation: null, client: null, removed: 0, incomplete: JSON.parse(body).code })
})

drill('an override that expires while one worker hangs ends as soon as all reply', async () => {
  const nextLine = (from: number, wanted: RegExp) =>
    gateway.line((line) => gateway.lines.indexOf(line) >= from && wanted.test(line.msg))
  let from = 0
  let event = ''
  // It may expire before the worker stands still.
  while (event !== 'an operation override could not be ended') {
    from = gateway.lines.length
    await gateway.ask('POST', '/operations/reject', override('1s'))
    event = (await whileFirstHangs(() => nextLine(from, /^operation override ended|^an operation override/))).msg
  }

  await nextLine(from, /^operation override ended/)

  expect(await statusesOfBoth()).toEqual([200, 200])
})

drill(
  'lines of all workers that a slow reader does not take are dropped and counted, and the others are whole',
  async () => {
    const exchanges = (): number => gateway.lines.filter(({ operation }) => operation === 'leads.pipeline').length
    const droppedLines = async () => (await gateway.status()).log.dropped
    let responded = 0
    const bytes = request.replace('/market/insights', '/leads/pipeline')
    const lane = Array(50).fill({ bytes, method: 'GET', onResponse: () => void responded++ })

    gateway.stdout.pause()
    for (let round = 0; (await droppedLines()) === 0 && round < 20; round++)
      await sendPipelined(gateway.port, 8, Array(8).fill(lane))
    gateway.stdout.resume()
    await gateway.line(({ msg }) => msg.startsWith('log lines dropped'))
    const dropped = await droppedLines()

    expect(dropped).toBeGreaterThan(0)
    // A line that is dropped may be about something else than an exchange.
    await expect.poll(exchanges).toBeGreaterThanOrEqual(responded - dropped)
    expect(exchanges()).toBeLessThan(responded)
  },
)

drill('when the primary is killed, its workers end', async () => {
  const serving = await pids()
  expect(serving.map(isThere)).toEqual([true, true])

  kill(gateway.pid, 'SIGKILL')

  await expect.poll(() => serving.map(isThere)).toEqual([false, false])
})
