import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  openNotifyChannel,
  parseNotifySettings,
  takeNotifySettings,
} from '../../../src/features/systemd/notify-channel.ts'
import { folderWith } from '../../core/config/helper.ts'
import { collectGarbage } from '../../helpers/collect-garbage.ts'
import { needProgram } from '../../helpers/program.ts'
import { openNotifySocket } from './notify-socket.ts'

const [systemdNotify, python] = [await needProgram('systemd-notify'), await needProgram('python3')]

afterEach(() => void vi.unstubAllEnvs())

/** Makes a folder with a program `systemd-notify` of this text, for the PATH. */
const withProgram = (text: string): string => {
  const folder = folderWith({})
  writeFileSync(join(folder, 'systemd-notify'), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  return folder
}

/** Tells whether a process is there and has not ended. */
const isRunning = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

describe.skipIf(systemdNotify.missing ?? python.missing)('the channel to systemd', () => {
  test.each([
    ['by its path', undefined],
    ['by its abstract name, which a systemd in a container may hand over', `@lender-gateway/${randomUUID()}`],
  ])('is found %s, and carries words of a shell as they are, and a line feed as a blank', async (_, name) => {
    const { path, messages } = await openNotifySocket(python.path ?? '', 0, name)

    await openNotifyChannel(path)(['READY=1', 'STATUS=it\'s $(id) `id` "a" \\ * ; %s\nX=1'])

    expect(messages).toEqual([{ READY: '1', STATUS: 'it\'s $(id) `id` "a" \\ * ; %s X=1' }])
  })

  test('the channel rejects when no process listens', async () => {
    const send = openNotifyChannel('/nowhere/notify')

    await expect(send(['READY=1'])).rejects.toThrow('systemd-notify ended with 1')
  })
})

test('a missing program is reported, and a program that is installed later is used', async () => {
  const folder = withProgram('exit 0')
  rmSync(join(folder, 'systemd-notify'))
  const send = openNotifyChannel('/notify', folder)

  await expect(send(['READY=1'])).rejects.toThrow('systemd-notify ended with 127')
  writeFileSync(join(folder, 'systemd-notify'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })

  await expect(send(['READY=1'])).resolves.toBe(undefined)
})

test('a killed shell fails one message, and the next message has another shell', async () => {
  const send = openNotifyChannel('/notify', withProgram('[ "$1" = READY=1 ] || kill -9 $PPID'))

  await expect(send(['WATCHDOG=1'])).rejects.toThrow('the shell of systemd-notify has ended')

  await expect(send(['READY=1'])).resolves.toBe(undefined)
})

test('a program that hangs is killed with its shell, and the next message has another', async () => {
  const folder = withProgram('[ "$1" = READY=1 ] && exit 0; echo $$ > "$(dirname "$0")/pid"; exec sleep 1000')
  const send = openNotifyChannel('/notify', `${folder}:/usr/bin:/bin`, 500)

  await expect(send(['WATCHDOG=1'])).rejects.toThrow('systemd-notify hung for 500 ms')
  await expect(send(['READY=1'])).resolves.toBe(undefined)

  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'))
  await expect.poll(() => isRunning(pid)).toBe(false)
})

test('a sent message is not kept in memory', async () => {
  const send = openNotifyChannel('/notify', withProgram('exit 0'))
  // The shell reads a byte at a time.
  const sendMany = async (messages: number): Promise<void> => {
    for (let n = 0; n < messages; n++) await send([`STATUS=${'x'.repeat(40_000)}${n}`])
  }
  await sendMany(2)
  collectGarbage()
  const before = process.memoryUsage().heapUsed

  await sendMany(10)
  collectGarbage()

  expect(process.memoryUsage().heapUsed - before).toBeLessThan(200_000)
})

test('the program gets two variables, and no secret of this process', async () => {
  vi.stubEnv('SECRET_OF_A_TEST', 'secret')
  const folder = withProgram('/usr/bin/env > "$(dirname "$0")/seen"')
  const send = openNotifyChannel('/notify', `${folder}:/usr/bin:/bin`)

  await send(['READY=1'])

  const seen = readFileSync(join(folder, 'seen'), 'utf8')
  expect(seen).toContain('NOTIFY_SOCKET=/notify')
  expect(seen).not.toContain('secret')
})

const socket = '/run/systemd/notify'

test.each([{}, { NOTIFY_SOCKET: '', WATCHDOG_USEC: '1000000' }])(
  'without a socket systemd asks for nothing: %j',
  (none) => {
    expect(parseNotifySettings(none, 7)).toBe(null)
  },
)

test.each([
  ['a time for this process', { WATCHDOG_USEC: '30000000', WATCHDOG_PID: '7' }, 30_000],
  ['a time for any process', { WATCHDOG_USEC: '30000000' }, 30_000],
  ['a time for another process', { WATCHDOG_USEC: '30000000', WATCHDOG_PID: '8' }, null],
  ['a time of nothing', { WATCHDOG_USEC: '0' }, null],
  ['what is no time', { WATCHDOG_USEC: 'soon' }, null],
  ['no time', {}, null],
])('%s says how long systemd waits', (_, variables, watchdogMs) => {
  expect(parseNotifySettings({ NOTIFY_SOCKET: socket, ...variables }, 7)).toEqual({ socket, watchdogMs })
})

test('child processes do not inherit the variables of systemd', () => {
  vi.stubEnv('NOTIFY_SOCKET', socket)

  expect(takeNotifySettings()).toEqual({ socket, watchdogMs: null })
  expect(process.env).not.toHaveProperty('NOTIFY_SOCKET')
  expect(takeNotifySettings()).toBe(null)
})
