import { setImmediate as nextTurn } from 'node:timers/promises'
import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import { Overrides } from '../../../src/core/runtime/overrides.ts'
import { PeerGoneError } from '../../../src/features/workers/messages.ts'
import { startWorkerPool } from '../../../src/features/workers/worker-pool.ts'
import { testConfig } from '../../helpers/gateway.ts'

const events: string[] = []
const replies: Promise<number>[] = []
const accepting = { isListening: true, hasReceiver: true }
const handedOver = Promise.withResolvers<void>()

vi.mock('../../../src/features/workers/acceptor.ts', () => ({
  openAcceptor: () => ({
    applyConfig() {},
    isListening: () => accepting.isListening,
    distributor: { hasReceiver: () => accepting.hasReceiver },
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

const startTwoWorkers = () =>
  startWorkerPool({
    size: 2,
    initial: { config: testConfig(), overrides: new Overrides(), sandboxOrigin: 'http://127.0.0.1:9' },
    bindTarget: { host: '127.0.0.1', port: 0 },
    log: pino({ level: 'silent' }),
    primary: {} as never,
    forwardLines: () => {},
  })

test('workers end once every connection that was accepted is handed over', async () => {
  const pool = await startTwoWorkers()

  const closed = pool.close(5000)
  await nextTurn()
  const before = [...events]
  handedOver.resolve()
  await closed

  expect(before).toEqual(['closed to clients'])
  expect(events).toEqual(['closed to clients', 'handed over', 'workers end'])
})

test.each([
  ['nothing while they do', true, true, null],
  ['no worker while none takes connections', true, false, 'no-worker'],
  ['a listener that is gone, whether they do or not', false, true, 'not-listening'],
])('what keeps workers from serving is %s', async (_, isListening, hasReceiver, reason) => {
  Object.assign(accepting, { isListening, hasReceiver })
  const pool = await startTwoWorkers()

  expect(pool.notServing()).toBe(reason)
  await pool.close(0)
})

const late = () => Promise.reject(new Error('did not reply'))
const hanging = () => new Promise<never>(() => {})
const gone = () => Promise.reject(new PeerGoneError('is gone'))

test.each([
  ['those that hang are silent, and one that has ended is not counted', [gone, late, late], undefined, 2],
  ['none that hangs is waited for when something urgent has come', [hanging], Promise.resolve(), 1],
])('of the workers that are sent a command %s', async (_, others, urgent, silent) => {
  replies.splice(0, replies.length, Promise.resolve(7), ...others.map((reply) => reply()))
  const pool = await startTwoWorkers()

  const outcome = await pool.runCommand('uneject', { group: 'risk', url: 'http://a' }, urgent)
  await pool.close(0)

  expect(outcome).toEqual({ results: [7], silent })
})
