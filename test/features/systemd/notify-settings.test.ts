import { afterEach, expect, test } from 'vitest'
import { parseNotifySettings, takeNotifySettings } from '../../../src/features/systemd/notify-channel.ts'

const socket = '/run/systemd/notify'

test('without a socket systemd asks for nothing', () => {
  expect(parseNotifySettings({}, 7)).toBe(null)
  expect(parseNotifySettings({ NOTIFY_SOCKET: '', WATCHDOG_USEC: '1000000' }, 7)).toBe(null)
})

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

afterEach(() => {
  delete process.env.NOTIFY_SOCKET
})

test('child processes do not inherit what was asked of this process', () => {
  process.env.NOTIFY_SOCKET = socket

  expect(takeNotifySettings()).toEqual({ socket, watchdogMs: null })
  expect(process.env).not.toHaveProperty('NOTIFY_SOCKET')
  expect(takeNotifySettings()).toBe(null)
})
