/** What becomes of a process that is to take another one's place and does not. */
import { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { impossible } from '../../src/cli/takeover.ts'
import { startSuccessor } from '../../src/serving/takeover.ts'
import { descriptorOf } from '../../src/shared/descriptor.ts'

const start = async (script: string, withinMs = 20_000, program = process.execPath) => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as { readonly port: number }
  const one = { fd: descriptorOf(server) ?? -1, meant: { host: '127.0.0.1', port }, port }
  return startSuccessor(
    { public: one, admin: one, said: { operations: [], endpoints: [] }, audit: null },
    [program, '-e', script],
    withinMs,
  )
}

const isThere = (pid: number | undefined): boolean => {
  try {
    return process.kill(pid ?? -1, 0)
  } catch {
    return false
  }
}

test('one that says nothing in time is ended', async () => {
  const { serves, pid } = await start('setInterval(() => {}, 1000)', 300)

  await expect(serves).rejects.toThrow('it was not ready within 0.3 s')
  await expect.poll(() => isThere(pid)).toBe(false)
})

test.each([
  ['process.exit(7)', 'it ended with 7 before it was ready'],
  ['process.kill(process.pid, "SIGKILL")', 'it ended by SIGKILL before it was ready'],
  ['process.send("nonsense"); setInterval(() => {}, 1000)', 'it said something else than that it is ready'],
])('%s is the reason why it failed', async (script, reason) => {
  const { serves, pid } = await start(script)

  await expect(serves).rejects.toThrow(reason)
  await expect.poll(() => isThere(pid)).toBe(false)
})

test('a program that is not there is the reason as well', async () => {
  const { serves, pid } = await start('', 20_000, '/nowhere/node')

  expect(pid).toBeUndefined()
  await expect(serves).rejects.toThrow('ENOENT')
})

test('one that is abandoned is ended', async () => {
  const { serves, pid, abandon } = await start('setInterval(() => {}, 1000)')

  abandon()

  await expect(serves).rejects.toThrow('it ended by SIGKILL')
  expect(isThere(pid)).toBe(false)
})

test('one that serves is not ended with the process that it took over from', async () => {
  const { serves, pid, abandon } = await start('process.send("ready"); setInterval(() => {}, 1000)')
  onTestFinished(() => void process.kill(pid ?? 0, 'SIGKILL'))
  const kill = vi.spyOn(ChildProcess.prototype, 'kill')
  onTestFinished(() => kill.mockRestore())
  await serves

  abandon()

  expect(kill).not.toHaveBeenCalled()
})

test('where the successor would be ended with this process there is none', () => {
  expect(impossible(1, {})).toMatch(/^the container ends with this process: /)
  expect(impossible(42, { SYSTEMD_EXEC_PID: '42' })).toMatch(/^systemd ends what is left .* have a socket unit/)
  expect(impossible(42, { SYSTEMD_EXEC_PID: '41' })).toBeNull()
  expect(impossible(42, {})).toBeNull()
})
