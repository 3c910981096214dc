/** A worker as the primary sees it. SIGSTOP keeps it from taking what it is sent. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { WorkerInit } from '../../../src/features/workers/messages.ts'
import { serializeInput } from '../../../src/features/workers/messages.ts'
import { type WorkerEvents, WorkerProcess } from '../../../src/features/workers/worker-process.ts'
import { type Settings, testConfig } from '../../helpers/gateway.ts'
import { isWholeResponse, parseStatus, rawClient } from '../../helpers/raw-client.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

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
const events: WorkerEvents = {
  onReady: () => {},
  onHandOff: () => null,
  onConnectionsClosed: () => {},
  onConnectionAck: () => {},
  onCall: () => null,
  onNotification: () => {},
  onConnectionReturned: () => {},
  onDisconnect: () => {},
  onExit: () => {},
  onOutput: (stdout) => void stdout.resume(),
}

test('connections that it was about to be sent are returned when it ends, before it is counted as gone', async () => {
  const returned: (Socket | 'gone')[] = []
  const ended = Promise.withResolvers<void>()
  const worker = new WorkerProcess(
    { type: 'start' } as WorkerInit,
    {
      ...events,
      onConnectionReturned: (socket: Socket) => void returned.push(socket),
      onDisconnect: () => void returned.push('gone'),
      onExit: () => ended.resolve(),
    },
    60_000,
  )
  process.kill(worker.pid ?? Number.NaN, 'SIGSTOP')
  await accept(3)

  for (const socket of accepted) worker.handOff(socket)
  worker.kill('enough')
  await ended.promise

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

/** Starts a worker, and waits until it serves. */
const startWorker = async (state: WorkerInit['state'], more: Partial<WorkerEvents> = {}): Promise<WorkerProcess> => {
  const ready = Promise.withResolvers<void>()
  const init: WorkerInit = {
    type: 'start',
    worker: 1,
    place: { workers: 1, answerMs: 1000, saveEveryMs: 60_000 },
    state,
    verdicts: [],
    handedOver: [],
    pseudonym: 'gateway',
    ticketSecret: 'secret',
    digestKey: 'key',
    draining: false,
    logsToTerminal: false,
  }
  const worker = new WorkerProcess(init, { ...events, ...more, onReady: () => ready.resolve() }, 60_000)
  onTestFinished(() => worker.kill('the test is over'))
  await ready.promise
  return worker
}

test('a command that reaches it together with a commit runs in the state that is committed', async () => {
  const worker = await startWorker(stateOf({}))
  await worker.call('prepare', { prepared: 1, state: stateOf({ contract: { learn: true } }) }, 60_000)
  const before = await worker.command('learned', {}, 60_000)
  process.kill(worker.pid ?? Number.NaN, 'SIGSTOP')

  const committed = worker.call('commit', { prepared: 1, verdicts: [] }, 60_000)
  const after = worker.command('learned', {}, 60_000)
  process.kill(worker.pid ?? Number.NaN, 'SIGCONT')

  await committed
  expect(before).toBeNull()
  expect(await after).toEqual({ operations: new Map() })
})

describe('a connection that comes behind a commit', () => {
  /** Opens a server that says nothing. A worker waits a second for such a Redis before it has prepared a state. */
  const silentRedis = async (): Promise<string> => {
    const sockets: Socket[] = []
    const redis = createServer((socket) => void sockets.push(socket.on('error', () => {}))).listen(0, '127.0.0.1')
    await once(redis, 'listening')
    onTestFinished(() => {
      redis.close()
      for (const socket of sockets) socket.destroy()
    })
    return `redis://127.0.0.1:${(redis.address() as AddressInfo).port}`
  }

  /** Makes a worker prepare and commit a state that takes it a second, and hands it a connection meanwhile. */
  const handOffDuringCommit = async (worker: WorkerProcess, upstream: string) => {
    const idempotency = {
      redis: { url: await silentRedis() },
      encryptionKeys: [Buffer.alloc(32, 7).toString('base64')],
    }
    const operations = { 'financing.pre-approval': { idempotency: {} } }
    const client = await rawClient((server.address() as AddressInfo).port)
    await expect.poll(() => accepted.length).toBe(1)
    const [socket] = accepted as [Socket]
    const handedOver = once(socket, 'close')
    const prepared = worker.call(
      'prepare',
      { prepared: 1, state: stateOf({ upstream, operations, idempotency }) },
      60_000,
    )
    const committed = worker.call('commit', { prepared: 1, verdicts: [] }, 60_000)
    worker.handOff(socket)
    await handedOver
    return { client, committed: Promise.all([prepared, committed]) }
  }

  test('is served in the state that is committed, and none of its bytes is lost', async () => {
    const upstream = await httpUpstream()
    const worker = await startWorker(stateOf({}))
    const body = 'x'.repeat(300_000)

    const { client, committed } = await handOffDuringCommit(worker, upstream.url)
    client.send(`POST /valuation/score HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    const response = await client.until(isWholeResponse)

    client.close()
    await committed
    expect(parseStatus(response)).toBe(200)
    expect(upstream.requests.map((request) => request.body.toString())).toEqual([body])
  })

  test('is served also when the worker is to end meanwhile', async () => {
    const upstream = await httpUpstream()
    const worker = await startWorker(stateOf({}))

    const { client, committed } = await handOffDuringCommit(worker, upstream.url)
    client.send('GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n')
    worker.send({ type: 'close', deadlineMs: 60_000 })
    const { received } = await client.ended()

    await committed
    expect(parseStatus(received)).toBe(200)
  })

  test('and that the client resets meanwhile is acknowledged, and ends nothing else', async () => {
    const acknowledged = Promise.withResolvers<void>()
    const worker = await startWorker(stateOf({}), { onConnectionAck: () => acknowledged.resolve() })

    const { client, committed } = await handOffDuringCommit(worker, 'http://a.invalid')
    client.socket.resetAndDestroy()

    await committed
    await acknowledged.promise
    expect(await worker.command('learned', {}, 60_000)).toBeNull()
  })

  test('that fails is not served in the state before', async () => {
    const worker = await startWorker(stateOf({}))
    const client = await rawClient((server.address() as AddressInfo).port)
    client.send('GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n')
    await expect.poll(() => accepted.length).toBe(1)
    process.kill(worker.pid ?? Number.NaN, 'SIGSTOP')

    const committed = worker.call('commit', { prepared: 1, verdicts: [] }, 60_000)
    worker.handOff(accepted[0] as Socket)
    process.kill(worker.pid ?? Number.NaN, 'SIGCONT')

    await expect(committed).rejects.toThrow('was told to take what it was never given')
    expect((await client.ended()).received).toBe('')
  })
})
