/** Workers whose event loop stands still: SIGSTOP stops them, which to every other process is the same. */
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { heldBackHint, notAnsweringHint } from '../../../src/core/runtime/proxy-server.ts'
import { sendPipelined } from '../../helpers/pipelined-client.ts'
import { exchangeRaw, parseStatus, rawClient } from '../../helpers/raw-client.ts'
import { drill, test } from '../../helpers/speed.ts'
import { openHttpUpstream, type TestUpstream } from '../../helpers/upstream.ts'
import { isThere, kill, startWorkerGateway, type WorkerGateway } from '../../helpers/worker-gateway.ts'

const request = 'GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n'

const script = fileURLToPath(new URL('short-timeouts.ts', import.meta.url))

let gateway: WorkerGateway
let upstream: TestUpstream
let pids: readonly number[] = []

const settings = () => ({
  workers: 2,
  upstream: upstream.url,
  upstreams: { leads: { endpoints: [upstream.url, `${upstream.url}/b`] } },
  listen: { maxConnections: 20 },
  log: { buffer: '64KiB' },
})

beforeAll(async () => {
  upstream = await openHttpUpstream((_, response) => void response.end('first'))
  gateway = await startWorkerGateway(settings(), [script])
  pids = (await gateway.status()).workers.map(({ pid }) => pid ?? 0)
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

const states = async (): Promise<readonly string[]> => (await gateway.status()).workers.map(({ state }) => state)

/** Reloads, however slow the machine is just now. */
const reload = async (): Promise<void> =>
  void (await expect.poll(async () => (await gateway.ask('POST', '/reload')).status).toBe(200))

const settingsOutOfService = () => ({ ...settings(), operations: { 'market.insights': { state: 'refuse' } } })

const firstPid = (): number => pids[0] ?? 0

test('a worker that hangs costs one connection at most, and neither /status nor /ready', async () => {
  kill(firstPid(), 'SIGSTOP')

  const clients = await Promise.all(Array.from({ length: 6 }, () => rawClient(gateway.port)))
  for (const client of clients) client.send(request)
  const answered = (): number => clients.filter((client) => client.received().endsWith('first')).length
  await expect.poll(answered).toBe(5)
  await expect.poll(states).toEqual(['not answering', 'serving'])
  const { workers, findings } = await gateway.status()
  const hung = findings.find(({ about }) => about === 'workers')
  const ready = await gateway.ask('GET', '/ready')
  kill(firstPid(), 'SIGCONT')
  await Promise.all(clients.map((client) => client.until((text) => text.endsWith('first'))))

  expect(Date.parse(hung?.since ?? '')).toBeGreaterThan(Date.parse(workers[0]?.startedAt ?? ''))
  expect(ready.status).toBe(200)
  for (const client of clients) client.close()
})

test('an edit that one worker cannot prepare is applied by none, says why, and is tried again', async () => {
  const { hash } = (await gateway.status()).config
  gateway.edit(settingsOutOfService())

  kill(firstPid(), 'SIGSTOP')
  const rejected = await gateway.ask('POST', '/reload')
  const other = await Promise.any([exchangeRaw(gateway.port, request), exchangeRaw(gateway.port, request)])
  const stopped = await gateway.status()
  kill(firstPid(), 'SIGCONT')
  await expect.poll(async () => (await gateway.status()).config.loadedBy).toBe('preflight')

  const found = `worker 1 (process ${firstPid()}) did not answer within 2s`
  expect(rejected.status).toBe(503)
  expect(JSON.parse(rejected.body)).toMatchObject({
    code: 'workers-not-answering',
    detail: `${found}: ${heldBackHint}`,
    hash,
    nextTry: expect.any(String),
    problems: [{ found, hint: heldBackHint }],
  })
  expect(parseStatus(other)).toBe(200)
  expect(stopped.config.hash).toBe(hash)
  expect([
    parseStatus(await exchangeRaw(gateway.port, request)),
    parseStatus(await exchangeRaw(gateway.port, request)),
  ]).toEqual([503, 503])
  gateway.edit(settings())
  await reload()
})

test('a rollback that one worker cannot prepare is applied by none, and says so as a reload does', async () => {
  const { hash } = (await gateway.status()).config

  kill(firstPid(), 'SIGSTOP')
  const { status, body } = await gateway.ask('POST', '/rollback')
  kill(firstPid(), 'SIGCONT')
  await expect.poll(states).toEqual(['serving', 'serving'])

  expect(status).toBe(503)
  expect(JSON.parse(body)).toMatchObject({ code: 'workers-not-answering', hash })
  expect((await gateway.status()).config.hash).toBe(hash)
})

drill(
  'an override that one worker cannot prepare is applied by none, not even by one that starts meanwhile',
  async () => {
    const second = pids[1] ?? 0
    kill(firstPid(), 'SIGSTOP')
    const response = gateway.ask('POST', '/operations/refuse', JSON.stringify({ operation: 'market.insights' }))
    await expect.poll(async () => Object.keys((await gateway.status()).operations)).toEqual(['market.insights'])

    kill(second, 'SIGKILL')
    await gateway.line((line) => line.msg === 'worker ended' && line.pid === second)
    const { status, body } = await response
    kill(firstPid(), 'SIGCONT')
    await expect.poll(states).toEqual(['serving', 'serving'])
    const responses = [await exchangeRaw(gateway.port, request), await exchangeRaw(gateway.port, request)]
    pids = (await gateway.status()).workers.map(({ pid }) => pid ?? 0)

    expect(status).toBe(503)
    expect(JSON.parse(body)).toMatchObject({
      code: 'workers-not-answering',
      detail: `worker 1 (process ${firstPid()}) did not answer within 2s: ${notAnsweringHint}`,
    })
    expect(responses.map(parseStatus)).toEqual([200, 200])
  },
)

drill(
  'an override that is set again while the first is being rejected is in effect when the response says so',
  async () => {
    const override = JSON.stringify({ operation: 'market.insights', ttl: '1h' })
    kill(firstPid(), 'SIGSTOP')
    const firstResponse = gateway.ask('POST', '/operations/refuse', override)
    await expect.poll(async () => Object.keys((await gateway.status()).operations)).toEqual(['market.insights'])
    const again = gateway.ask('POST', '/operations/refuse', override)
    const { status } = await firstResponse
    kill(firstPid(), 'SIGCONT')
    const { status: second } = await again

    const responses = [await exchangeRaw(gateway.port, request), await exchangeRaw(gateway.port, request)]
    const shown = Object.keys((await gateway.status()).operations)

    expect([status, second]).toEqual([503, 200])
    expect(responses.map(parseStatus)).toEqual([503, 503])
    expect(shown).toEqual(['market.insights'])
    await gateway.ask('POST', '/operations/serve', override)
  },
)

test('an override that one worker cannot prepare leaves the one before it', async () => {
  const override = JSON.stringify({ operation: 'market.insights', ttl: '1h' })
  await gateway.ask('POST', '/operations/refuse', override)
  kill(firstPid(), 'SIGSTOP')
  const { status } = await gateway.ask('POST', '/operations/serve', override)
  kill(firstPid(), 'SIGCONT')
  await expect.poll(states).toEqual(['serving', 'serving'])

  const responses = [await exchangeRaw(gateway.port, request), await exchangeRaw(gateway.port, request)]
  const shown = Object.keys((await gateway.status()).operations)
  await gateway.ask('POST', '/operations/serve', override)

  expect([status, ...responses.map(parseStatus)]).toEqual([503, 503, 503])
  expect(shown).toEqual(['market.insights'])
})

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

    kill(firstPid(), 'SIGSTOP')
    const { status, body } = await gateway.ask('POST', `/endpoints/${state}`, endpoint)
    kill(firstPid(), 'SIGCONT')
    await expect.poll(states).toEqual(['serving', 'serving'])

    expect(status).toBe(503)
    expect(JSON.parse(body)).toMatchObject({ code: 'workers-not-answering', detail: expect.stringContaining(detail) })
    expect(await shownStates()).toEqual(before)
    expect((await gateway.ask('POST', `/endpoints/${state}`, endpoint)).status).toBe(200)
    await gateway.ask('POST', '/endpoints/ready', endpoint)
  },
)

drill('a command that clears the cache in one worker alone is logged, with what it lacks', async () => {
  const from = gateway.lines.length

  kill(firstPid(), 'SIGSTOP')
  const { status, body } = await gateway.ask('DELETE', '/cache')
  kill(firstPid(), 'SIGCONT')
  await expect.poll(states).toEqual(['serving', 'serving'])
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
    kill(firstPid(), 'SIGSTOP')
    event = (await nextLine(from, /^override ended|^an override/)).msg
    kill(firstPid(), 'SIGCONT')
  }

  await nextLine(from, /^override ended/)
  const responses = [await exchangeRaw(gateway.port, request), await exchangeRaw(gateway.port, request)]

  expect(responses.map(parseStatus)).toEqual([200, 200])
})

test('the limit of connections holds for all workers together', async () => {
  const outcomes = async (): Promise<readonly string[]> => {
    const clients = await Promise.all(Array.from({ length: 24 }, () => rawClient(gateway.port)))
    for (const client of clients) client.send(request)
    const ends = await Promise.all(
      clients.map((client) =>
        client
          .until((text) => text.endsWith('first'))
          .then(
            () => 'answered',
            () => 'closed',
          ),
      ),
    )
    for (const client of clients) client.close()
    return ends.sort()
  }

  // A connection counts until its worker has said that it is closed, and so may one of the test before.
  await expect.poll(outcomes, { interval: 500 }).toEqual([...Array(20).fill('answered'), ...Array(4).fill('closed')])
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

test('when all workers hang the gateway is not ready, and responds to operators all the same', async () => {
  for (const pid of pids) kill(pid, 'SIGSTOP')
  const clients = await Promise.all([rawClient(gateway.port), rawClient(gateway.port)])
  await expect.poll(async () => (await gateway.ask('GET', '/ready')).status).toBe(503)

  const shown = await gateway.status()
  for (const pid of pids) kill(pid, 'SIGCONT')
  await expect.poll(async () => (await gateway.ask('GET', '/ready')).status).toBe(200)

  expect([shown.state, shown.ready]).toEqual(['not serving', false])
  for (const client of clients) client.close()
})

test('a worker that gives no sign of life is killed in the end, and another takes its place', async () => {
  const impatient = await startWorkerGateway(settings(), [script], { HANG_MS: '4000' })
  onTestFinished(() => impatient.stop())
  const { workers } = await impatient.status()
  const pid = workers[0]?.pid ?? 0
  kill(pid, 'SIGSTOP')
  const clients = await Promise.all([rawClient(impatient.port), rawClient(impatient.port)])

  const ended = await impatient.line((line) => line.msg === 'worker ended' && line.pid === pid)
  const how = await Promise.race(clients.map((client) => client.ended().then(({ how }) => how)))
  await expect
    .poll(async () => (await impatient.status()).workers.map(({ state }) => state))
    .toEqual(['serving', 'serving'])

  expect(ended).toMatchObject({
    worker: 1,
    signal: 'SIGKILL',
    reason: 'hung: did not answer within 4s',
    nextStartMs: 0,
  })
  expect(how).toBe('end')
  for (const client of clients) client.close()
})

test('when all are killed at once the gateway is not ready until another serves, and clients that connect meanwhile wait for that', async () => {
  for (const pid of pids) kill(pid, 'SIGKILL')
  for (const pid of pids) await gateway.line((line) => line.msg === 'worker ended' && line.pid === pid)
  const [response, ready] = [exchangeRaw(gateway.port, request), await gateway.ask('GET', '/ready')]
  gateway.edit(settingsOutOfService())
  const reloaded = await gateway.ask('POST', '/reload')
  await expect.poll(states).toEqual(['serving', 'serving'])
  const { workers, config } = await gateway.status()
  pids = workers.map(({ pid }) => pid ?? 0)

  expect([ready.status, reloaded.status]).toEqual([503, 200])
  expect([200, 503]).toContain(parseStatus(await response)) // before the edit, or after it
  expect(workers.map((worker) => worker.config)).toEqual([config.hash, config.hash])
})

test('when the primary is killed, its workers end', async () => {
  expect(pids.map(isThere)).toEqual([true, true])

  kill(gateway.pid, 'SIGKILL')

  await expect.poll(() => pids.map(isThere)).toEqual([false, false])
})
