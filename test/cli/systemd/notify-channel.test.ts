import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openNotifyChannel } from '../../../src/cli/systemd/notify-channel.ts'
import { openNotifySocket } from '../../helpers/notify-socket.ts'
import { needProgram } from '../../helpers/program.ts'

const [systemdNotify, python] = [await needProgram('systemd-notify'), await needProgram('python3')]

/** Makes a folder with a program `systemd-notify` of this text, for the PATH. */
const withProgram = (text: string): string => {
  const folder = mkdtempSync(join(tmpdir(), 'channel-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'systemd-notify'), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  return folder
}

describe.skipIf(systemdNotify.missing ?? python.missing)('the channel to systemd', () => {
  test('carries what a shell would take for its own as it is, and a line feed as a blank', async () => {
    const { path, messages } = await openNotifySocket(python.path ?? '')
    const send = openNotifyChannel(path)

    await send(['READY=1', 'STATUS=it\'s $(id) `id` "a" \\ * ; %s\nX=1'])

    expect(messages).toEqual([{ READY: '1', STATUS: 'it\'s $(id) `id` "a" \\ * ; %s X=1' }])
  })

  test('says that nobody listens', async () => {
    const send = openNotifyChannel('/nowhere/notify')

    await expect(send(['READY=1'])).rejects.toThrow('systemd-notify ended with 1')
  })
})

test('a program that is missing is said, and one that comes later is used', async () => {
  const folder = withProgram('exit 0')
  rmSync(join(folder, 'systemd-notify'))
  const send = openNotifyChannel('/notify', folder)

  await expect(send(['READY=1'])).rejects.toThrow('systemd-notify ended with 127')
  writeFileSync(join(folder, 'systemd-notify'), '#!/bin/sh\nexit 0\n', { mode: 0o755 })

  await expect(send(['READY=1'])).resolves.toBe(undefined)
})

test('a shell that is killed fails one message, and the next has another shell', async () => {
  const send = openNotifyChannel('/notify', withProgram('[ "$1" = READY=1 ] || kill -9 $PPID'))

  await expect(send(['WATCHDOG=1'])).rejects.toThrow('the shell of systemd-notify has ended')

  await expect(send(['READY=1'])).resolves.toBe(undefined)
})

test('the program gets two variables, and no secret of this process', async () => {
  process.env.SECRET_OF_A_TEST = 'secret'
  onTestFinished(() => {
    delete process.env.SECRET_OF_A_TEST
  })
  const folder = withProgram('/usr/bin/env > "$(dirname "$0")/seen"')
  const send = openNotifyChannel('/notify', `${folder}:/usr/bin:/bin`)

  await send(['READY=1'])

  const seen = readFileSync(join(folder, 'seen'), 'utf8')
  expect(seen).toContain('NOTIFY_SOCKET=/notify')
  expect(seen).not.toContain('secret')
})
