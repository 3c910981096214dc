import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parseListenFds } from '../../../src/features/systemd/listen-fds.ts'
import { settingOf, settingsOf } from '../../features/systemd/systemd-stand-in.ts'
import { needProgram } from '../../helpers/program.ts'
import { load, tokenBeside } from './configurations.ts'
import { at, container, examples, read, root, scratch } from './files.ts'

const run = promisify(execFile)
const unit = read(`${examples}/systemd/lender-gateway.service`)
const memory = String(at(container, 'resources', 'limits', 'memory'))
const analyze = await needProgram('systemd-analyze')

/** Writes the unit with the paths of this machine, which systemd-analyze looks for. */
const installed = (text: string): string => {
  const here = text.replaceAll('/usr/bin/node', process.execPath).replaceAll('/opt/lender-gateway', root)
  return join(scratch({ 'lender-gateway.service': here }), 'lender-gateway.service')
}

describe.skipIf(analyze.missing)('systemd-analyze', () => {
  const nothing = { stdout: '', stderr: '' }
  const ask = (...args: readonly string[]) =>
    run(analyze.path ?? '', [...args], { env: { ...process.env, SYSTEMD_COLORS: '0' } })

  test('verify finds nothing wrong with the unit, nor with the socket unit beside it', async () => {
    const service = installed(unit)
    const socket = join(dirname(service), 'lender-gateway.socket')
    writeFileSync(socket, read(`${examples}/systemd/lender-gateway.socket`))

    for (const file of [service, socket]) expect(await ask('verify', '--man=no', file)).toEqual(nothing)
  })

  test.each([
    ['ProtectSystem=', 'ProtectSystems='],
    ['TimeoutStopSec=30', 'TimeoutStopSec=thirty'],
    ['SystemCallFilter=@system-service', 'SystemCallFilter=@system-services'],
    ['src/lender-gateway.js serve', 'src/lender-gateway.js serve "unclosed'],
  ])('verify finds %s written as %s', async (good, bad) => {
    const asked = ask('verify', '--man=no', installed(unit.replace(good, bad)))
    const { stdout, stderr } = await asked.catch((error) => error)

    expect(stdout + stderr).toMatch(/lender-gateway\.service:\d+: /)
  })

  test('security rates its exposure at 1.5 or less, of 10', async () => {
    const { stdout } = await ask('security', '--offline=true', '--no-pager', '--threshold=15', installed(unit))

    expect(stdout).toMatch(/Overall exposure level for lender-gateway.service: [01]\.\d OK/)
  })
})

test.each([
  ['a reload is SIGHUP', 'ExecReload', '/bin/kill -HUP $MAINPID'],
  ['a failure starts it again', 'Restart', 'on-failure'],
  ["only the gateway's own process gets a signal", 'KillMode', 'mixed'],
  ['the gateway is heard when it is ready', 'Type', 'notify'],
  ['systemd-notify, a child, is heard', 'NotifyAccess', 'all'],
  ['the gateway is heard while it lives', 'WatchdogSec', '30'],
  ['it may write an audit log', 'LogsDirectory', 'lender-gateway'],
  ['it may have as much memory as a pod', 'MemoryMax', memory.replace('Mi', 'M')],
  ['a worker that is killed for want of memory is started again, and stops no other', 'OOMPolicy', 'continue'],
  ['V8 may write and execute a page, without which Node would not start', 'MemoryDenyWriteExecute', 'no'],
  ['a start starts the socket unit, which goes down with it when it is given up', 'Sockets', 'lender-gateway.socket'],
])('%s: %s=%s', (_, setting, value) => {
  expect(settingOf(unit, setting)).toBe(value)
})

test('that signal is SIGTERM, as nothing else is named', () => {
  expect(settingsOf(unit, 'KillSignal')).toEqual([])
})

test('the socket unit listens where the configuration says, under the name that the gateway looks for', () => {
  const socket = read(`${examples}/systemd/lender-gateway.socket`)
  const { host, port } = load('systemd').config.listen

  expect(settingOf(socket, 'ListenStream')).toBe(`${host}:${port}`)
  const named = { LISTEN_PID: '1', LISTEN_FDS: '1', LISTEN_FDNAMES: settingOf(socket, 'FileDescriptorName') }
  expect(parseListenFds(named, 1)).toMatchObject({ public: { fd: 3 }, admin: null })
})

test('logrotate renames the file of the audit log where the unit lets the gateway write it, and asks for this service', () => {
  const example = read(`${examples}/systemd/lender-gateway.logrotate`)
  const services = [...example.matchAll(/systemctl (?:is-active --quiet|reload) (\S+)/g)].map(([, name]) => name)
  const [, file] = /^(\/\S+) \{$/m.exec(example) ?? []

  expect(file).toBe(`/var/log/${settingOf(unit, 'LogsDirectory')}/audit.log`)
  expect(read(`${examples}/systemd/gateway.yaml`)).toContain(`audit: { file: ${file},`)
  expect(services).toEqual(['lender-gateway', 'lender-gateway'])
  expect(example).not.toMatch(/^\s*(?:copytruncate|compress|create)/m) // each would cut or hide lines
})

test('systemd waits longer than the shutdown may take, with time to spare, and operators come by the loopback', () => {
  const { admin, shutdown } = load('systemd').config

  expect(Number(settingOf(unit, 'TimeoutStopSec')) * 1000).toBeGreaterThanOrEqual(shutdown.deadline + 5000)
  expect(admin).toMatchObject({ host: '127.0.0.1', token: tokenBeside })
})
