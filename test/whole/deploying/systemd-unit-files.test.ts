import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parseListenFds } from '../../../src/features/systemd/listen-fds.ts'
import { settingOf, settingsOf } from '../../features/systemd/systemd-stand-in.ts'
import { needProgram } from '../../helpers/program.ts'
import { load, tokenBeside } from './configurations.ts'
import { at, examples, manifestOf, read, root, scratch } from './files.ts'

const run = promisify(execFile)
const unit = read(`${examples}/systemd/lender-gateway.service`)
const analyze = await needProgram('systemd-analyze')

/** Writes the unit with the paths of this machine, which systemd-analyze looks for. */
const installed = (text: string): string => {
  const here = text.replaceAll('/usr/bin/node', process.execPath).replaceAll('/opt/lender-gateway', root)
  return join(scratch({ 'lender-gateway.service': here }), 'lender-gateway.service')
}

describe.skipIf(analyze.missing)('systemd-analyze', () => {
  const ask = (...args: readonly string[]) =>
    run(analyze.path ?? '', [...args], { env: { ...process.env, SYSTEMD_COLORS: '0' } })

  test('verify finds nothing wrong with the unit', async () => {
    const { stdout, stderr } = await ask('verify', '--man=no', installed(unit))

    expect(stdout + stderr).toBe('')
  })

  test('verify finds nothing wrong with the socket unit beside it', async () => {
    const service = installed(unit)
    const socket = join(dirname(service), 'lender-gateway.socket')
    writeFileSync(socket, read(`${examples}/systemd/lender-gateway.socket`))

    const { stdout, stderr } = await ask('verify', '--man=no', socket)

    expect(stdout + stderr).toBe('')
  })

  test.each([
    ['ProtectSystem=', 'ProtectSystems='],
    ['TimeoutStopSec=30', 'TimeoutStopSec=thirty'],
    ['SystemCallFilter=@system-service', 'SystemCallFilter=@system-services'],
    ['src/main.ts serve', 'src/main.ts serve "unclosed'],
  ])('verify finds %s written as %s', async (good, bad) => {
    const { stdout, stderr } = await ask('verify', '--man=no', installed(unit.replace(good, bad))).catch(
      (error) => error,
    )

    expect(stdout + stderr).toMatch(/lender-gateway\.service:\d+: /)
  })

  test('security rates its exposure at 1.5 or less, of 10', async () => {
    const { stdout } = await ask('security', '--offline=true', '--no-pager', '--threshold=15', installed(unit))

    expect(stdout).toMatch(/Overall exposure level for lender-gateway.service: [01]\.\d OK/)
  })
})

test("a reload is SIGHUP, a failure starts it again, and only the gateway's own process gets SIGTERM", () => {
  expect(settingOf(unit, 'ExecReload')).toBe('/bin/kill -HUP $MAINPID')
  expect(settingOf(unit, 'Restart')).toBe('on-failure')
  expect(settingOf(unit, 'KillMode')).toBe('mixed')
  expect(settingsOf(unit, 'KillSignal')).toEqual([]) // SIGTERM, unless it is named
})

test('the gateway is heard when it is ready and while it lives, and may write an audit log', () => {
  expect(settingOf(unit, 'Type')).toBe('notify')
  expect(settingOf(unit, 'NotifyAccess')).toBe('all') // systemd-notify is a child
  expect(Number(settingOf(unit, 'WatchdogSec'))).toBe(30)
  expect(settingOf(unit, 'LogsDirectory')).toBe('lender-gateway')
})

test('the service may have as much memory as a pod', () => {
  const limit = String(
    at(manifestOf('Deployment'), 'spec', 'template', 'spec', 'containers', 0, 'resources', 'limits', 'memory'),
  )

  expect(settingOf(unit, 'MemoryMax')).toBe(limit.replace('Mi', 'M'))
})

test('one process that is killed for want of memory does not stop the others: a worker is started again', () => {
  expect(settingOf(unit, 'OOMPolicy')).toBe('continue')
})

test('V8 may write and execute a page: MemoryDenyWriteExecute would end Node at its start', () => {
  expect(settingOf(unit, 'MemoryDenyWriteExecute')).toBe('no')
})

test('each start of the service starts the socket unit, which goes down with a service that is given up', () => {
  expect(settingOf(unit, 'Sockets')).toBe('lender-gateway.socket')
})

test('the socket unit listens where the configuration says, under the name that the gateway looks for', () => {
  const socket = read(`${examples}/systemd/lender-gateway.socket`)
  const { host, port } = load('systemd').config.listen

  expect(settingOf(socket, 'ListenStream')).toBe(`${host}:${port}`)
  expect(
    parseListenFds({ LISTEN_PID: '1', LISTEN_FDS: '1', LISTEN_FDNAMES: settingOf(socket, 'FileDescriptorName') }, 1),
  ).toMatchObject({ public: { fd: 3 }, admin: null })
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
