/** Workers whose event loop stands still: stopped with SIGSTOP, which is the same to everybody else. */
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sendPipelined } from '../../helpers/pipelined-client.ts'
import { exchangeRaw, parseStatus, rawClient } from '../../helpers/raw-client.ts'
import { openHttpUpstream, type TestUpstream } from '../../helpers/upstream.ts'
import { isThere, kill, startWorkerGateway, type WorkerGateway } from '../worker-gateway.ts'

const request = 'GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n'

let gateway: WorkerGateway
let upstream: TestUpstream
let pids: readonly number[] = []

const settings = () => ({
  workers: 2,
  upstream: upstream.url,
  listen: { maxConnections: 20 },
  log: { buffer: '64KiB' },
})

beforeAll(async () => {
  upstream = await openHttpUpstream((_, response) => void response.end('first'))
  gateway = await startWorkerGateway(settings(), [fileURLToPath(new URL('impatient.ts', import.meta.url))])
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

const refusing = () => ({ ...settings(), operations: { 'market.insights': { state: 'refuse' } } })

const first = (): number => pids[0] ?? 0

test('one that hangs costs one connection at most, and neither /status nor /ready', async () => {
  kill(first(), 'SIGSTOP')

  const clients = await Promise.all(Array.from({ length: 6 }, () => rawClient(gateway.port)))
  for (const client of clients) client.send(request)
  const answered = (): number => clients.filter((client) => client.received().endsWith('first')).length
  await expect.poll(answered).toBe(5)
  const shown = await states()
  const ready = await gateway.ask('GET', '/ready')
  kill(first(), 'SIGCONT')
  await Promise.all(clients.map((client) => client.until((text) => text.endsWith('first'))))

  expect(shown).toEqual(['not answering', 'serving'])
  expect(ready.status).toBe(200)
  for (const client of clients) client.close()
})

test('a reload that one cannot take is taken by none, and says why', async () => {
  const { hash } = (await gateway.status()).config
  gateway.edit(refusing())

  kill(first(), 'SIGSTOP')
  const refused = await gateway.ask('POST', '/reload')
  const other = await Promise.any([exchangeRaw(gateway.port, request), exchangeRaw(gateway.port, request)])
  kill(first(), 'SIGCONT')
  await expect.poll(states).toEqual(['serving', 'serving'])
  const after = await gateway.status()

  expect(refused.status).toBe(422)
  expect(JSON.parse(refused.body).problems).toMatchObject([
    { found: expect.stringContaining(`worker 1 (process ${first()}) did not answer within 1s`) },
  ])
  expect(parseStatus(other)).toBe(200)
  expect(after.workers.map(({ config }) => config)).toEqual([hash, hash])
  await reload()
  expect([
    parseStatus(await exchangeRaw(gateway.port, request)),
    parseStatus(await exchangeRaw(gateway.port, request)),
  ]).toEqual([503, 503])
  gateway.edit(settings())
  await reload()
})

test('an order that one cannot take is taken by none, not even by one that starts meanwhile', async () => {
  const second = pids[1] ?? 0
  kill(first(), 'SIGSTOP')
  const ordered = gateway.ask('POST', '/operations/refuse', JSON.stringify({ operation: 'market.insights' }))
  await expect.poll(async () => Object.keys((await gateway.status()).operations)).toEqual(['market.insights'])

  kill(second, 'SIGKILL')
  await gateway.line((line) => line.msg === 'worker ended' && line.pid === second)
  const { status } = await ordered
  kill(first(), 'SIGCONT')
  await expect.poll(states).toEqual(['serving', 'serving'])
  const answers = [await exchangeRaw(gateway.port, request), await exchangeRaw(gateway.port, request)]
  pids = (await gateway.status()).workers.map(({ pid }) => pid ?? 0)

  expect(status).not.toBe(200)
  expect(answers.map(parseStatus)).toEqual([200, 200])
})

test('an order that is given again while the first is being refused is in effect when it is said to be', async () => {
  const order = JSON.stringify({ operation: 'market.insights', ttl: '1h' })
  kill(first(), 'SIGSTOP')
  const given = gateway.ask('POST', '/operations/refuse', order)
  await expect.poll(async () => Object.keys((await gateway.status()).operations)).toEqual(['market.insights'])
  const again = gateway.ask('POST', '/operations/refuse', order)
  const { status } = await given
  kill(first(), 'SIGCONT')
  const { status: second } = await again

  const answers = [await exchangeRaw(gateway.port, request), await exchangeRaw(gateway.port, request)]
  const shown = Object.keys((await gateway.status()).operations)

  expect([status, second]).toEqual([500, 200])
  expect(answers.map(parseStatus)).toEqual([503, 503])
  expect(shown).toEqual(['market.insights'])
  await gateway.ask('POST', '/operations/serve', order)
})

test('an order that one cannot take leaves the one before it', async () => {
  const order = JSON.stringify({ operation: 'market.insights', ttl: '1h' })
  await gateway.ask('POST', '/operations/refuse', order)
  kill(first(), 'SIGSTOP')
  const { status } = await gateway.ask('POST', '/operations/serve', order)
  kill(first(), 'SIGCONT')
  await expect.poll(states).toEqual(['serving', 'serving'])

  const answers = [await exchangeRaw(gateway.port, request), await exchangeRaw(gateway.port, request)]
  const shown = Object.keys((await gateway.status()).operations)
  await gateway.ask('POST', '/operations/serve', order)

  expect([status, ...answers.map(parseStatus)]).toEqual([500, 503, 503])
  expect(shown).toEqual(['market.insights'])
})

test('an order whose time is over while one hangs ends as soon as all answer', async () => {
  const order = JSON.stringify({ operation: 'market.insights', ttl: '1s' })
  const came = (from: number, wanted: RegExp) =>
    gateway.line((line) => gateway.lines.indexOf(line) >= from && wanted.test(line.msg))
  let from = 0
  let told = ''
  // Its time may be over before the worker stands still.
  while (told !== 'an override could not be ended') {
    from = gateway.lines.length
    await gateway.ask('POST', '/operations/refuse', order)
    kill(first(), 'SIGSTOP')
    told = (await came(from, /^override ended|^an override/)).msg
    kill(first(), 'SIGCONT')
  }

  await came(from, /^override ended/)
  const answers = [await exchangeRaw(gateway.port, request), await exchangeRaw(gateway.port, request)]

  expect(answers.map(parseStatus)).toEqual([200, 200])
})

test('the bound of connections holds for all of them together', async () => {
  const clients = await Promise.all(Array.from({ length: 24 }, () => rawClient(gateway.port)))
  for (const client of clients) client.send(request)

  const got = await Promise.all(
    clients.map((client) =>
      client
        .until((text) => text.endsWith('first'))
        .then(
          () => 'answered',
          () => 'closed',
        ),
    ),
  )

  expect(got.sort()).toEqual([...Array(20).fill('answered'), ...Array(4).fill('closed')])
  for (const client of clients) client.close()
})

test('lines of all of them that a slow reader does not take are dropped and counted, and the others are whole', async () => {
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
})

test('when all of them hang it is not ready, and answers operators all the same', async () => {
  for (const pid of pids) kill(pid, 'SIGSTOP')
  const clients = await Promise.all([rawClient(gateway.port), rawClient(gateway.port)])
  await expect.poll(async () => (await gateway.ask('GET', '/ready')).status).toBe(503)

  const shown = await gateway.status()
  for (const pid of pids) kill(pid, 'SIGCONT')
  await expect.poll(async () => (await gateway.ask('GET', '/ready')).status).toBe(200)

  expect([shown.state, shown.ready]).toEqual(['not serving', false])
  for (const client of clients) client.close()
})

test('one that gives no sign of life is killed in the end, and another takes its place', async () => {
  const pid = first()
  kill(pid, 'SIGSTOP')
  const clients = await Promise.all([rawClient(gateway.port), rawClient(gateway.port)])

  const ended = await gateway.line((line) => line.msg === 'worker ended' && line.pid === pid)
  const how = await Promise.race(clients.map((client) => client.ended().then(({ how }) => how)))
  await expect.poll(states).toEqual(['serving', 'serving'])
  pids = (await gateway.status()).workers.map(({ pid }) => pid ?? 0)

  expect(ended).toMatchObject({
    worker: 1,
    signal: 'SIGKILL',
    reason: 'hung: did not answer within 4s',
    nextStartMs: 0,
  })
  expect(how).toBe('end')
  for (const client of clients) client.close()
})

test('when all are killed at once it is not ready until another serves, and whoever connects meanwhile waits for that', async () => {
  for (const pid of pids) kill(pid, 'SIGKILL')
  for (const pid of pids) await gateway.line((line) => line.msg === 'worker ended' && line.pid === pid)
  const [answer, ready] = [exchangeRaw(gateway.port, request), await gateway.ask('GET', '/ready')]
  gateway.edit(refusing())
  const reloaded = await gateway.ask('POST', '/reload')
  await expect.poll(states).toEqual(['serving', 'serving'])
  const { workers, config } = await gateway.status()
  pids = workers.map(({ pid }) => pid ?? 0)

  expect([ready.status, reloaded.status]).toEqual([503, 200])
  expect([200, 503]).toContain(parseStatus(await answer)) // before the edit, or after it
  expect(workers.map((worker) => worker.config)).toEqual([config.hash, config.hash])
})

test('when the primary is killed, its workers end', async () => {
  expect(pids.map(isThere)).toEqual([true, true])

  kill(gateway.pid, 'SIGKILL')

  await expect.poll(() => pids.map(isThere)).toEqual([false, false])
})
