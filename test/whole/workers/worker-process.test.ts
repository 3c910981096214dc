/** A worker as the primary sees it. SIGSTOP keeps it from taking what it is sent. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { WorkerInit } from '../../../src/features/workers/messages.ts'
import { serializeInput } from '../../../src/features/workers/messages.ts'
import { type WorkerEvents, WorkerProcess } from '../../../src/features/workers/worker-process.ts'
import { type Settings, testConfig } from '../../helpers/gateway.ts'
import { isWholeResponse, parseStatus, type RawClient, rawClient } from '../../helpers/raw-client.ts'
import { openHttpUpstream, type TestUpstream } from '../../helpers/upstream.ts'
import { bareGet } from '../../helpers/wire.ts'

let server: Server
const accepted: Socket[] = []
const clients: Socket[] = []

beforeEach(async () => {
  server = createServer({ pauseOnConnect: true }, (socket) => void accepted.push(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})

afterEach(() => {
  for (const socket of [...accepted.splice(0), ...clients.splice(0)]) socket.destroy()
  server.close()
})

const accept = async (count: number): Promise<void> => {
  const { port } = server.address() as AddressInfo
  for (let n = 0; n < count; n++) clients.push(connect(port, '127.0.0.1').on('error', () => {}))
  await expect.poll(() => accepted.length).toBe(count)
}

/** The events of a worker that is told to do nothing. */
const nothing = (): null => null
const events: WorkerEvents = {
  ...{ onReady: nothing, onHandOff: nothing, onConnectionsClosed: nothing, onConnectionAck: nothing },
  ...{ onCall: nothing, onNotification: nothing, onConnectionReturned: nothing, onDisconnect: nothing },
  ...{ onExit: nothing, onOutput: (stdout) => void stdout.resume() },
}

test('a worker that does not reply is killed, and the connections that it was about to be sent are returned before it is counted as gone', async () => {
  const returned: (Socket | 'gone')[] = []
  const ended = Promise.withResolvers<void>()
  await accept(3)
  const noting = {
    ...events,
    onConnectionReturned: (socket: Socket) => void returned.push(socket),
    onDisconnect: () => void returned.push('gone'),
    onExit: () => ended.resolve(),
  }
  const worker = new WorkerProcess({ type: 'start' } as WorkerInit, noting, 200)
  process.kill(worker.pid ?? Number.NaN, 'SIGSTOP')

  for (const socket of accepted) worker.handOff(socket)
  worker.onTimeout()
  await ended.promise

  expect(worker.failure).toBe('hung: did not reply within 200ms')
  expect(accepted.map(({ destroyed }) => destroyed)).toEqual([true, false, false])
  expect(returned.slice(0, 3)).toEqual([...accepted.slice(1), 'gone'])
})

const stateOf = (settings: Settings) => {
  const none = { all: [], get: () => null }
  return serializeInput({
    config: testConfig({ upstream: 'http://a.invalid', ...settings }),
    overrides: { operations: none, endpoints: none, learning: none, shifts: none },
    sandboxOrigin: null,
  })
}

describe('a worker that serves', () => {
  const silent: Socket[] = []
  let redis: Server
  let upstream: TestUpstream
  let worker: WorkerProcess
  let acknowledged = 0
  let prepared = 0

  beforeAll(async () => {
    // It says nothing. A worker waits a second for such a Redis before it has prepared a state.
    redis = createServer((socket) => void silent.push(socket.on('error', () => {}))).listen(0, '127.0.0.1')
    await once(redis, 'listening')
    upstream = await openHttpUpstream()
    const ready = Promise.withResolvers<void>()
    const init: WorkerInit = {
      ...{
        type: 'start',
        worker: 1,
        place: { workers: 1, primaryReplyMs: 1000, saveEveryMs: 60_000 },
        state: stateOf({}),
      },
      ...{ verdicts: [], handedOver: [], pseudonym: 'gateway', ticketSecret: 'secret', digestKey: 'key' },
      ...{ draining: false, logsToTerminal: false },
    }
    const counting = { ...events, onConnectionAck: () => void acknowledged++, onReady: () => ready.resolve() }
    worker = new WorkerProcess(init, counting, 60_000)
    await ready.promise
  })

  afterAll(async () => {
    worker.kill('the tests are over')
    redis.close()
    for (const socket of silent) socket.destroy()
    await upstream.close()
  })

  const prepare = (settings: Settings) =>
    worker.call('prepare', { prepared: ++prepared, state: stateOf(settings) }, 60_000)

  const commit = () => worker.call('commit', { prepared, verdicts: [] }, 60_000)

  const connectClient = async () => {
    const before = accepted.length
    const client = await rawClient((server.address() as AddressInfo).port)
    await expect.poll(() => accepted.length).toBe(before + 1)
    return { client, socket: accepted.at(-1) as Socket }
  }

  /** Makes the worker prepare and commit a state that takes it a second, and hands it connections meanwhile. */
  const handOffDuringCommit = async (count: number) => {
    const idempotency = {
      redis: { url: `redis://127.0.0.1:${(redis.address() as AddressInfo).port}` },
      encryptionKeys: [Buffer.alloc(32, 7).toString('base64')],
    }
    const operations = { 'financing.pre-approval': { idempotency: {} } }
    const clients = []
    for (let n = 0; n < count; n++) clients.push(await connectClient())
    const handedOver = clients.map(({ socket }) => once(socket, 'close'))
    const committed = Promise.all([prepare({ upstream: upstream.url, operations, idempotency }), commit()])
    for (const { socket } of clients) worker.handOff(socket)
    await Promise.all(handedOver)
    return { clients: clients.map(({ client }) => client), committed }
  }

  test('runs a command that reaches it together with a commit in the state that is committed', async () => {
    await prepare({ contract: { learn: true } })
    const before = await worker.command('learned', {}, 60_000)
    process.kill(worker.pid ?? Number.NaN, 'SIGSTOP')

    const committed = commit()
    const after = worker.command('learned', {}, 60_000)
    process.kill(worker.pid ?? Number.NaN, 'SIGCONT')

    await committed
    expect(before).toEqual([])
    expect(await after).toEqual([{ operations: new Map() }])
  })

  test('serves a connection behind a commit in the state that is committed, and loses none of its bytes, also when a client resets another', async () => {
    const body = 'x'.repeat(300_000)
    const before = acknowledged

    const { clients, committed } = await handOffDuringCommit(2)
    const [client, reset] = clients as [RawClient, RawClient]
    reset.socket.resetAndDestroy()
    client.send(`POST /valuation/score HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    const response = await client.until(isWholeResponse)

    client.close()
    await committed
    expect(parseStatus(response)).toBe(200)
    expect(upstream.requests.map((request) => request.body.toString())).toEqual([body])
    await expect.poll(() => acknowledged - before).toBe(2)
  })

  test('does not serve a connection behind a commit that fails in the state before', async () => {
    const { client, socket } = await connectClient()
    client.send(bareGet())
    process.kill(worker.pid ?? Number.NaN, 'SIGSTOP')

    const committed = worker.call('commit', { prepared: ++prepared, verdicts: [] }, 60_000)
    worker.handOff(socket)
    process.kill(worker.pid ?? Number.NaN, 'SIGCONT')

    await expect(committed).rejects.toThrow('there is no prepared configuration')
    expect((await client.ended()).received).toBe('')
  })

  test('serves a connection behind a commit also when it is to end meanwhile', async () => {
    const { clients, committed } = await handOffDuringCommit(1)
    const [client] = clients as [RawClient]
    client.send(bareGet())
    worker.send({ type: 'close', deadlineMs: 60_000 })
    const { received } = await client.ended()

    await committed
    expect(parseStatus(received)).toBe(200)
  })
})
