/** A worker as the primary sees it. SIGSTOP keeps it from taking what it is sent. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { serializeInput, type WorkerInit } from '../../../src/workers/ipc/messages.ts'
import { type WorkerEvents, WorkerProcess } from '../../../src/workers/pool/worker-process.ts'
import { type Settings, testConfig } from '../../helpers/gateway.ts'

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
  onConsume: () => null,
  onCountConnection: () => null,
  onRemember: () => [],
  onAuditLines: () => {},
  onInvalidated: () => {},
  onKeysFetched: () => {},
  onGuardReports: () => {},
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

test('a command that reaches it together with a commit runs in the state that is committed', async () => {
  const ready = Promise.withResolvers<void>()
  const init: WorkerInit = {
    type: 'start',
    worker: 1,
    workers: 1,
    countMs: 1000,
    state: stateOf({}),
    verdicts: [],
    issuerKeys: [],
    pseudonym: 'gateway',
    ticketSecret: 'secret',
    digestKey: 'key',
    draining: false,
    auditFailing: false,
    logsToTerminal: false,
  }
  const worker = new WorkerProcess(init, { ...events, onReady: () => ready.resolve() }, 60_000)
  onTestFinished(() => worker.kill('the test is over'))
  await ready.promise
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
