/** Workers whose event loop stands still: stopped with SIGSTOP, which is the same to everybody else. */
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sendAll } from '../helpers/lane.ts'
import { exchangeRaw, rawClient, statusOf } from '../helpers/raw.ts'
import { openHttpUpstream, type TestUpstream } from '../helpers/upstream.ts'
import { type CrewProcess, isThere, kill, startCrew } from './crew-process.ts'

const request = 'GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n'

let crew: CrewProcess
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
  crew = await startCrew(settings(), [fileURLToPath(new URL('impatient.ts', import.meta.url))])
  pids = (await crew.status()).workers.map(({ pid }) => pid ?? 0)
})

afterAll(async () => {
  await crew?.stop()
  await upstream?.close()
})

const states = async (): Promise<readonly string[]> => (await crew.status()).workers.map(({ state }) => state)

/** Reloads, however slow the machine is just now. */
const reload = async (): Promise<void> =>
  void (await expect.poll(async () => (await crew.ask('POST', '/reload')).status).toBe(200))

const refusing = () => ({ ...settings(), operations: { 'market.insights': { state: 'refuse' } } })

const first = (): number => pids[0] ?? 0

test('one that hangs costs one connection at most, and neither /status nor /ready', async () => {
  kill(first(), 'SIGSTOP')

  const clients = await Promise.all(Array.from({ length: 6 }, () => rawClient(crew.port)))
  for (const client of clients) client.send(request)
  const answered = (): number => clients.filter((client) => client.received().endsWith('first')).length
  await expect.poll(answered).toBe(5)
  const shown = await states()
  const ready = await crew.ask('GET', '/ready')
  kill(first(), 'SIGCONT')
  await Promise.all(clients.map((client) => client.until((text) => text.endsWith('first'))))

  expect(shown).toEqual(['not answering', 'serving'])
  expect(ready.status).toBe(200)
  for (const client of clients) client.close()
})

test('a reload that one cannot take is taken by none, and says why', async () => {
  const { hash } = (await crew.status()).config
  crew.edit(refusing())

  kill(first(), 'SIGSTOP')
  const refused = await crew.ask('POST', '/reload')
  const other = await Promise.any([exchangeRaw(crew.port, request), exchangeRaw(crew.port, request)])
  kill(first(), 'SIGCONT')
  await expect.poll(states).toEqual(['serving', 'serving'])
  const after = await crew.status()

  expect(refused.status).toBe(422)
  expect(JSON.parse(refused.body).problems).toMatchObject([
    { found: expect.stringContaining(`worker 1 (process ${first()}) did not answer within 1s`) },
  ])
  expect(statusOf(other)).toBe(200)
  expect(after.workers.map(({ config }) => config)).toEqual([hash, hash])
  await reload()
  expect([statusOf(await exchangeRaw(crew.port, request)), statusOf(await exchangeRaw(crew.port, request))]).toEqual([
    503, 503,
  ])
  crew.edit(settings())
  await reload()
})

test('an order that one cannot take is taken by none, not even by one that starts meanwhile', async () => {
  const second = pids[1] ?? 0
  kill(first(), 'SIGSTOP')
  const ordered = crew.ask('POST', '/operations/refuse', JSON.stringify({ operation: 'market.insights' }))
  await expect.poll(async () => Object.keys((await crew.status()).operations)).toEqual(['market.insights'])

  kill(second, 'SIGKILL')
  await crew.line((line) => line.msg === 'worker ended' && line.pid === second)
  const { status } = await ordered
  kill(first(), 'SIGCONT')
  await expect.poll(states).toEqual(['serving', 'serving'])
  const answers = [await exchangeRaw(crew.port, request), await exchangeRaw(crew.port, request)]
  pids = (await crew.status()).workers.map(({ pid }) => pid ?? 0)

  expect(status).not.toBe(200)
  expect(answers.map(statusOf)).toEqual([200, 200])
})

test('an order that is given again while the first is being refused is in effect when it is said to be', async () => {
  const order = JSON.stringify({ operation: 'market.insights', ttl: '1h' })
  kill(first(), 'SIGSTOP')
  const given = crew.ask('POST', '/operations/refuse', order)
  await expect.poll(async () => Object.keys((await crew.status()).operations)).toEqual(['market.insights'])
  const again = crew.ask('POST', '/operations/refuse', order)
  const { status } = await given
  kill(first(), 'SIGCONT')
  const { status: second } = await again

  const answers = [await exchangeRaw(crew.port, request), await exchangeRaw(crew.port, request)]
  const shown = Object.keys((await crew.status()).operations)

  expect([status, second]).toEqual([500, 200])
  expect(answers.map(statusOf)).toEqual([503, 503])
  expect(shown).toEqual(['market.insights'])
  await crew.ask('POST', '/operations/serve', order)
})

test('an order that one cannot take leaves the one before it', async () => {
  const order = JSON.stringify({ operation: 'market.insights', ttl: '1h' })
  await crew.ask('POST', '/operations/refuse', order)
  kill(first(), 'SIGSTOP')
  const { status } = await crew.ask('POST', '/operations/serve', order)
  kill(first(), 'SIGCONT')
  await expect.poll(states).toEqual(['serving', 'serving'])

  const answers = [await exchangeRaw(crew.port, request), await exchangeRaw(crew.port, request)]
  const shown = Object.keys((await crew.status()).operations)
  await crew.ask('POST', '/operations/serve', order)

  expect([status, ...answers.map(statusOf)]).toEqual([500, 503, 503])
  expect(shown).toEqual(['market.insights'])
})

test('an order whose time is over while one hangs ends as soon as all answer', async () => {
  const order = JSON.stringify({ operation: 'market.insights', ttl: '1s' })
  const came = (from: number, wanted: RegExp) =>
    crew.line((line) => crew.lines.indexOf(line) >= from && wanted.test(line.msg))
  let from = 0
  let told = ''
  // Its time may be over before the worker stands still.
  while (told !== 'an override could not be ended') {
    from = crew.lines.length
    await crew.ask('POST', '/operations/refuse', order)
    kill(first(), 'SIGSTOP')
    told = (await came(from, /^override ended|^an override/)).msg
    kill(first(), 'SIGCONT')
  }

  await came(from, /^override ended/)
  const answers = [await exchangeRaw(crew.port, request), await exchangeRaw(crew.port, request)]

  expect(answers.map(statusOf)).toEqual([200, 200])
})

test('the bound of connections holds for all of them together', async () => {
  const clients = await Promise.all(Array.from({ length: 24 }, () => rawClient(crew.port)))
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
  const exchanges = (): number => crew.lines.filter(({ operation }) => operation === 'leads.pipeline').length
  let answered = 0
  const piece = {
    bytes: request.replace('/market/insights', '/leads/pipeline'),
    method: 'GET',
    onAnswer: () => void answered++,
  }

  crew.stdout.pause()
  for (let round = 0; (await crew.status()).log.dropped === 0 && round < 20; round++)
    await sendAll(
      crew.port,
      8,
      Array.from({ length: 8 }, () => Array(50).fill(piece)),
    )
  crew.stdout.resume()
  await crew.line(({ msg }) => msg.startsWith('log lines dropped'))
  const { dropped } = (await crew.status()).log
  expect(dropped).toBeGreaterThan(0)
  // A line that is dropped may be about something else than an exchange.
  await expect.poll(exchanges).toBeGreaterThanOrEqual(answered - dropped)
  expect(exchanges()).toBeLessThan(answered)
})

test('when all of them hang it is not ready, and answers operators all the same', async () => {
  for (const pid of pids) kill(pid, 'SIGSTOP')
  const clients = await Promise.all([rawClient(crew.port), rawClient(crew.port)])
  await expect.poll(async () => (await crew.ask('GET', '/ready')).status).toBe(503)

  const shown = await crew.status()
  for (const pid of pids) kill(pid, 'SIGCONT')
  await expect.poll(async () => (await crew.ask('GET', '/ready')).status).toBe(200)

  expect([shown.state, shown.ready]).toEqual(['not serving', false])
  for (const client of clients) client.close()
})

test('one that gives no sign of life is killed in the end, and another takes its place', async () => {
  const pid = first()
  kill(pid, 'SIGSTOP')
  const clients = await Promise.all([rawClient(crew.port), rawClient(crew.port)])

  const ended = await crew.line((line) => line.msg === 'worker ended' && line.pid === pid)
  const how = await Promise.race(clients.map((client) => client.ended().then(({ how }) => how)))
  await expect.poll(states).toEqual(['serving', 'serving'])
  pids = (await crew.status()).workers.map(({ pid }) => pid ?? 0)

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
  for (const pid of pids) await crew.line((line) => line.msg === 'worker ended' && line.pid === pid)
  const [answer, ready] = [exchangeRaw(crew.port, request), await crew.ask('GET', '/ready')]
  crew.edit(refusing())
  const reloaded = await crew.ask('POST', '/reload')
  await expect.poll(states).toEqual(['serving', 'serving'])
  const { workers, config } = await crew.status()
  pids = workers.map(({ pid }) => pid ?? 0)

  expect([ready.status, reloaded.status]).toEqual([503, 200])
  expect([200, 503]).toContain(statusOf(await answer)) // before the edit, or after it
  expect(workers.map((worker) => worker.config)).toEqual([config.hash, config.hash])
})

test('when the primary is killed, its workers end', async () => {
  expect(pids.map(isThere)).toEqual([true, true])

  kill(crew.pid, 'SIGKILL')

  await expect.poll(() => pids.map(isThere)).toEqual([false, false])
})
