import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createServeCommand } from '../../src/core/cli/commands/serve.ts'
import { loadInThread } from '../../src/core/config/load/load-in-thread.ts'
import { findChangedFiles } from '../../src/core/config/load/source-files.ts'
import type { openLog } from '../../src/core/log/log.ts'
import type { Gateway } from '../../src/core/runtime/gateway.ts'
import { folderWith } from '../core/config/helper.ts'
import { configText, logInMemory } from '../helpers/gateway.ts'

// The attack: the machine, or the limit on processes of the container, has no thread left when the file is read again.
// `new Worker` then throws on the spot, and a rejection without a handler ends the process. Or the file takes too long
// to read, and is mended meanwhile.
vi.mock('node:worker_threads', async (original) => {
  const { Worker: real, ...more } = await original<typeof import('node:worker_threads')>()
  return { ...more, Worker: vi.fn(real) }
})

beforeEach(() => void vi.mocked(Worker).mockClear())

const configured = (): string => join(folderWith({ 'gateway.yaml': configText() }), 'gateway.yaml')

test('a thread that cannot be started is a problem of the reload, and the next one is as good as any', async () => {
  const file = configured()
  vi.mocked(Worker).mockImplementationOnce(function starved() {
    throw new Error('Worker initialization failure: EAGAIN')
  })

  const starved = await loadInThread(file, {})
  const next = await loadInThread(file, {})

  expect(starved).toMatchObject({ ok: false, problems: [{ message: expect.stringContaining('EAGAIN') }] })
  expect(await findChangedFiles(starved.sources)).toEqual([file]) // so it is tried again at the next look
  expect(next.ok).toBe(true)
})

test('an edit of a file that takes too long to read is not taken for what was read', async () => {
  const file = configured()
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { prototype } = (await vi.importActual<typeof import('node:worker_threads')>('node:worker_threads')).Worker
  const asked = vi.spyOn(prototype, 'postMessage').mockImplementationOnce(() => {
    writeFileSync(file, `${configText()}# mended`)
    vi.advanceTimersByTime(30_000)
  })
  onTestFinished(() => asked.mockRestore())

  const { ok, sources } = await loadInThread(file, {})

  expect(asked).toHaveBeenCalledOnce()
  expect(ok).toBe(false)
  expect(await findChangedFiles(sources)).toEqual([file])
})

// The attack: SIGHUP comes while the gateway starts. Unheard, it ends the process; systemd takes that for a clean exit,
// and does not start it again. `systemctl reload` sends one to whatever it has just started.
const { startGateway } = vi.hoisted(() => ({ startGateway: vi.fn() }))
vi.mock('../../src/core/runtime/gateway.ts', () => ({ startGateway }))
vi.mock('../../src/core/log/log.ts', async (original) => ({
  ...(await original<object>()),
  openLog: async (): ReturnType<typeof openLog> => ({
    log: logInMemory().log,
    dropped: () => 0,
    forwardLines: () => {},
    close: async () => {},
  }),
}))

test('SIGHUP while the gateway starts is remembered, and the file is read again when it serves', async () => {
  const file = configured()
  const signals = ['SIGHUP', 'SIGTERM', 'SIGINT', 'uncaughtException'] as const
  const before = new Map(signals.map((name) => [name, process.listeners(name as 'SIGHUP')]))
  onTestFinished(() => {
    for (const name of signals)
      for (const listener of process.listeners(name as 'SIGHUP'))
        if (before.get(name)?.includes(listener) !== true) process.off(name, listener)
  })
  const served = Promise.withResolvers<unknown>()
  startGateway.mockReturnValue(served.promise)
  const reload = vi.fn(async () => {})

  const running = createServeCommand().parseAsync(['--config', file], { from: 'user' })
  await vi.waitUntil(() => startGateway.mock.calls.length === 1, { timeout: 20_000 })
  const handled = process.emit('SIGHUP', 'SIGHUP')
  const address = { address: '127.0.0.1', port: 1, family: 'IPv4' }
  served.resolve({ address, adminAddress: address, reload } satisfies Partial<Record<keyof Gateway, unknown>>)
  await running
  process.emit('SIGHUP', 'SIGHUP')

  expect(handled).toBe(true)
  expect(reload.mock.calls).toEqual([['signal'], ['signal']])
})
