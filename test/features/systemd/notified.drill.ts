/** A gateway as a service of `Type=notify`: the real `systemd-notify`, and a listener in place of systemd. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { folderWith } from '../../core/config/helper.ts'
import { configText } from '../../helpers/gateway.ts'
import { needProgram } from '../../helpers/program.ts'
import { serve, waitForListening } from '../../helpers/serve-process.ts'
import { openNotifySocket } from './notify-socket.ts'

const [systemdNotify, python] = [await needProgram('systemd-notify'), await needProgram('python3')]

// At this signal the event loop turns no more.
const forever = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'
const hanging = `process.on('SIGWINCH', () => { process.stderr.write('hangs'); ${forever} })`

/** Starts a gateway whose file can be edited, with a listener for its messages. */
const startService = async (settings: object = {}, watchdogMs = 0) => {
  const file = join(folderWith({}), 'gateway.yaml')
  const write = (more: string): void =>
    writeFileSync(file, `${configText({ upstream: 'sandbox', shutdown: { wait: '0s' }, ...settings })}${more}`)
  write('')
  const systemd = await openNotifySocket(python.path ?? '', watchdogMs)
  const gateway = serve(file, {
    NOTIFY_SOCKET: systemd.path,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hanging)}`,
    ...(watchdogMs === 0 ? {} : { WATCHDOG_USEC: String(watchdogMs * 1000) }),
  })
  const port = await waitForListening(gateway)
  const named = (name: string) => systemd.messages.filter((message) => name in message)
  return { gateway, port, file, write, named, messages: systemd.messages }
}

describe.skipIf(systemdNotify.missing ?? python.missing)('a service of Type=notify', () => {
  test('a service of Type=notify reports the begin of a reload, and then its outcome', async () => {
    const { gateway, file, write, named, messages } = await startService({ reload: { watch: false } })
    await expect.poll(() => named('READY')).toHaveLength(1)

    write('\nlisen: {}\n')
    gateway.signal('SIGHUP')
    await expect.poll(() => named('READY')).toHaveLength(2)
    const at = Number(messages[1]?.MONOTONIC_USEC)
    const now = Number(process.hrtime.bigint() / 1000n)

    expect(messages.map((message) => Object.keys(message)[0])).toEqual(['READY', 'RELOADING', 'READY'])
    expect(at).toBeGreaterThan(now - 60_000_000)
    expect(at).toBeLessThan(now)
    expect(messages[2]?.STATUS).toMatch(`; an edit was rejected: ${file}:`)
    write('')
    gateway.signal('SIGHUP')
    await expect.poll(() => named('READY')).toHaveLength(3)
    expect(messages.at(-1)?.STATUS).toMatch(/configuration \w+$/)
  })

  test('a service of Type=notify that hangs sends no keep-alive', async () => {
    const { gateway, named } = await startService({}, 1000)
    await expect.poll(() => named('WATCHDOG').length).toBeGreaterThan(2)

    gateway.signal('SIGWINCH')
    await expect.poll(() => gateway.errors()).toBe('hangs')
    const before = named('WATCHDOG').length
    const expired = named('expired').length
    await expect.poll(() => named('expired').length).toBeGreaterThan(expired)

    expect(named('WATCHDOG').length - before).toBeLessThanOrEqual(1) // one that was on its way
  })
})
