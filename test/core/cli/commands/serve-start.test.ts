/** The start of `serve`, with a gateway of the test. */
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createServeCommand } from '../../../../src/core/cli/commands/serve.ts'
import type { openLog } from '../../../../src/core/log/log.ts'
import type { Gateway } from '../../../../src/core/runtime/gateway.ts'
import { configText, logInMemory, type Settings } from '../../../helpers/gateway.ts'
import { folderWith } from '../../config/helper.ts'

const { startGateway, exitProcess } = vi.hoisted(() => ({ startGateway: vi.fn(), exitProcess: vi.fn() }))
vi.mock('../../../../src/core/runtime/gateway.ts', () => ({ startGateway }))
vi.mock('../../../../src/core/lib/program.ts', async (original) => ({ ...(await original<object>()), exitProcess }))
vi.mock('../../../../src/core/log/log.ts', async (original) => ({
  ...(await original<object>()),
  openLog: async (): ReturnType<typeof openLog> => ({
    log: logInMemory().log,
    dropped: () => 0,
    forwardLines: () => {},
    close: async () => {},
  }),
}))

const signals = ['SIGHUP', 'SIGTERM', 'SIGINT', 'uncaughtException'] as const
const before = new Map<string, readonly unknown[]>()
beforeEach(() => {
  for (const name of signals) before.set(name, process.listeners(name as 'SIGHUP'))
})
afterEach(() => {
  for (const name of signals)
    for (const listener of process.listeners(name as 'SIGHUP'))
      if (before.get(name)?.includes(listener) !== true) process.off(name, listener)
})

const serve = (settings: Settings = {}): Promise<unknown> => {
  const file = join(folderWith({ 'gateway.yaml': configText(settings) }), 'gateway.yaml')
  return createServeCommand().parseAsync(['--config', file], { from: 'user' })
}

// The attack: SIGHUP while the gateway starts ends the process if it is unhandled; systemd takes that for a clean exit.
// `systemctl reload` sends one right after a start.
test('SIGHUP while the gateway starts is remembered, and the file is read again when it serves', async () => {
  const served = Promise.withResolvers<unknown>()
  startGateway.mockClear().mockReturnValueOnce(served.promise)
  const reload = vi.fn(async () => {})

  const running = serve()
  await expect.poll(() => startGateway.mock.calls.length).toBe(1)
  const handled = process.emit('SIGHUP', 'SIGHUP')
  const address = { address: '127.0.0.1', port: 1, family: 'IPv4' }
  served.resolve({ address, adminAddress: address, reload } satisfies Partial<Record<keyof Gateway, unknown>>)
  await running
  process.emit('SIGHUP', 'SIGHUP')

  expect(handled).toBe(true)
  expect(reload.mock.calls).toEqual([['signal'], ['signal']])
})

// The first process of a container gets no signal that it does not handle.
test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s while the gateway starts ends the process at once, with 0',
  async (signal) => {
    startGateway.mockClear().mockReturnValueOnce(new Promise(() => {}))
    exitProcess.mockClear()

    void serve()
    await expect.poll(() => startGateway.mock.calls.length).toBe(1)
    process.emit(signal, signal)

    expect(exitProcess.mock.calls).toEqual([[0]])
  },
)

test.each([
  ['listen', 'EADDRINUSE', 'another process listens there; stop it, or change listen.port'],
  ['admin', 'EADDRINUSE', 'another process listens there; stop it, or change admin.port'],
  ['listen', 'EACCES', 'not permitted; ports below 1024 need a privilege, or change listen.port'],
  ['listen', 'EADDRNOTAVAIL', 'this machine has no such address; change listen.host'],
] as const)('where %s gets %s, the command fails with what to do', async (key, code, why) => {
  const target = { host: '127.0.0.1', port: 1 }
  startGateway.mockRejectedValueOnce(Object.assign(new Error('listen'), { code, target }))

  await expect(serve({ [key]: target })).rejects.toThrow(`cannot listen on 127.0.0.1:1: ${why}`)
})
