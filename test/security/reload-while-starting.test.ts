import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createServeCommand } from '../../src/core/cli/commands/serve.ts'
import type { openLog } from '../../src/core/log/log.ts'
import type { Gateway } from '../../src/core/runtime/gateway.ts'
import { configText, logInMemory } from '../helpers/gateway.ts'

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
  const folder = mkdtempSync(join(tmpdir(), 'starting-'))
  const signals = ['SIGHUP', 'SIGTERM', 'SIGINT', 'uncaughtException'] as const
  const before = new Map(signals.map((name) => [name, process.listeners(name as 'SIGHUP')]))
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
    for (const name of signals)
      for (const listener of process.listeners(name as 'SIGHUP'))
        if (before.get(name)?.includes(listener) !== true) process.off(name, listener)
  })
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, configText())
  let served: (gateway: unknown) => void = () => {}
  startGateway.mockReturnValue(
    new Promise((resolve) => {
      served = resolve
    }),
  )
  const reload = vi.fn(async () => {})

  const running = createServeCommand().parseAsync(['--config', file], { from: 'user' })
  await vi.waitUntil(() => startGateway.mock.calls.length === 1, { timeout: 20_000 })
  const handled = process.emit('SIGHUP', 'SIGHUP')
  const address = { address: '127.0.0.1', port: 1, family: 'IPv4' }
  served({ address, adminAddress: address, reload } satisfies Partial<Record<keyof Gateway, unknown>>)
  await running
  process.emit('SIGHUP', 'SIGHUP')

  expect(handled).toBe(true)
  expect(reload.mock.calls).toEqual([['signal'], ['signal']])
})
