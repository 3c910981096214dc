/** What the primary of several workers does with them, without any process. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import { Overrides } from '../../../src/core/runtime/overrides.ts'
import { PeerGoneError } from '../../../src/features/workers/messages.ts'
import { startWorkerPool } from '../../../src/features/workers/worker-pool.ts'
import { testConfig } from '../../helpers/gateway.ts'

const events: string[] = []
const replies: Promise<number>[] = []
const handedOver = Promise.withResolvers<void>()

vi.mock('../../../src/features/workers/acceptor.ts', () => ({
  openAcceptor: () => ({
    applyConfig() {},
    listen: () => ({ address: '127.0.0.1', family: 'IPv4', port: 1 }),
    stopAccepting() {
      events.push('closed to clients')
    },
    async drained() {
      await handedOver.promise
      events.push('handed over')
    },
  }),
}))

vi.mock('../../../src/features/workers/worker-supervisor.ts', () => ({
  createWorkerSupervisor: () => ({
    slots: replies.map((reply) => ({ isServing: true, worker: { command: () => reply, send() {} } })),
    start() {},
    stop() {
      events.push('workers end')
    },
  }),
}))

const open = () =>
  startWorkerPool({
    size: 2,
    initial: { config: testConfig(), overrides: new Overrides(), sandboxOrigin: 'http://127.0.0.1:9' },
    bindTarget: { host: '127.0.0.1', port: 0 },
    log: pino({ level: 'silent' }),
    primary: {} as never,
    forwardLines: () => {},
  })

test('workers end once every connection that was accepted is handed over', async () => {
  const pool = await open()

  const closed = pool.close(5000)
  await nextTurn()
  const before = [...events]
  handedOver.resolve()
  await closed

  expect(before).toEqual(['closed to clients'])
  expect(events).toEqual(['closed to clients', 'handed over', 'workers end'])
})

test('of the workers that are sent a command, those that hang are unanswered, and one that has ended is not counted', async () => {
  const late = () => Promise.reject(new Error('did not answer'))
  replies.push(Promise.resolve(7), Promise.reject(new PeerGoneError('is gone')), late(), late())
  const pool = await open()

  const outcome = await pool.runCommand('uneject', { group: 'risk', url: 'http://a' })
  await pool.close(0)

  expect(outcome).toEqual({ results: [7], unanswered: 2 })
})

test('a command waits for no worker that hangs when something urgent has come', async () => {
  replies.splice(0, replies.length, Promise.resolve(7), new Promise(() => {}))
  const pool = await open()

  const outcome = await pool.runCommand('uneject', { group: 'risk', url: 'http://a' }, Promise.resolve())
  await pool.close(0)

  expect(outcome).toEqual({ results: [7], unanswered: 1 })
})
