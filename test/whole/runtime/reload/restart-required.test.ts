import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Config } from '../../../../src/core/config/config.ts'
import { getRestartOnlySettings, reportConfig } from '../../../../src/core/config/diff/report.ts'
import { loadConfig } from '../../../../src/core/config/load/load-config.ts'
import { findRestartRequired } from '../../../../src/core/runtime/reload/reload-problems.ts'
import { folderWith, sandbox, validConfig } from '../../../core/config/helper.ts'

/** Loads a file, and lists what a gateway on `running` could not change without a restart. */
const restartNeeds = (running: Config, text: string) => {
  const file = join(folderWith({ 'gateway.yaml': text }), 'gateway.yaml')
  const loaded = loadConfig(file)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return findRestartRequired(getRestartOnlySettings(reportConfig(running)), loaded, 'gateway.yaml')
}

const between = (before: Config, after: Config) =>
  findRestartRequired(
    getRestartOnlySettings(reportConfig(before)),
    { restartOnly: getRestartOnlySettings(reportConfig(after)), provenance: new Map() },
    'gateway.yaml',
  )

const running = (() => {
  const loaded = loadConfig(join(folderWith({ 'gateway.yaml': sandbox }), 'gateway.yaml'))
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded.config
})()

test.each([
  ['listen:\n  host: ::1', 'listen.host', 2, 9, '127.0.0.1', '::1'],
  ['listen:\n  port: 9000', 'listen.port', 2, 9, '8080', '9000'],
  ['admin: { host: "::1" }', 'admin.host', 1, 16, '127.0.0.1', '::1'],
  ['admin: { port: 9902 }', 'admin.port', 1, 16, '9901', '9902'],
  ['workers: auto', 'workers', 1, 10, '1', 'auto'],
  ['log: { level: warn, format: ecs }', 'log.format', 1, 29, 'pino', 'ecs'],
  ['log: { level: warn, buffer: 1MiB }', 'log.buffer', 1, 29, '16MiB', '1MiB'],
])(
  '%j needs a restart, and the problem names the key, its position and the value to put back',
  (text, path, line, column, current, found) => {
    const problems = restartNeeds(running, `${text}\n${sandbox}`)

    expect(problems).toEqual([
      {
        file: 'gateway.yaml',
        line,
        column,
        path,
        expected: `${current}, which the gateway was started with`,
        found,
        message: 'this cannot change while the gateway runs: it needs a restart',
        hint: `restart the gateway, or put ${current} back`,
      },
    ])
  },
)

test('a key that was not there is to be removed, and one that was is to be put back', () => {
  const named = `listen: { via: gw }\n${sandbox}`

  expect(restartNeeds(running, named)).toMatchObject([
    {
      path: 'listen.via',
      line: 1,
      column: 16,
      expected: 'no listen.via, which the gateway was started with',
      found: 'gw',
      hint: 'restart the gateway, or remove listen.via',
    },
  ])
  expect(restartNeeds(validConfig(named), sandbox)).toMatchObject([
    { path: 'listen.via', line: 1, column: 1, found: 'nothing', hint: 'restart the gateway, or put gw back' },
  ])
})

test('HTTP/2 switched on or off needs a restart', () => {
  const over = (http2: boolean): Config => ({ ...running, listen: { ...running.listen, http2 } })
  const restartDiff = (before: boolean, after: boolean) => between(over(before), over(after))

  expect(restartDiff(false, true)).toMatchObject([
    { path: 'listen.http2', found: 'true', hint: 'restart the gateway, or put false back' },
  ])
  expect(restartDiff(true, false)).toMatchObject([
    { path: 'listen.http2', found: 'false', hint: 'restart the gateway, or put true back' },
  ])
  expect(restartDiff(true, true)).toEqual([])
})

test('a pseudonym of none is a name, not the lack of one', () => {
  expect(restartNeeds(running, `listen: { via: none }\n${sandbox}`)).toMatchObject([
    { path: 'listen.via', found: 'none' },
  ])
})

test('HTTPS switched on or off needs a restart, and a renewed certificate does not', () => {
  const over = (tls: Config['admin']['tls']): Config => ({ ...running, admin: { ...running.admin, tls } })
  const [old, renewed] = [
    over({ certificate: 'a', key: 'b', clientCertificate: null }),
    over({ certificate: 'c', key: 'd', clientCertificate: null }),
  ]
  const restartDiff = (before: Config, after: Config) => between(before, after)

  expect(restartDiff(running, old)).toMatchObject([
    { path: 'admin.tls', hint: 'restart the gateway, or remove admin.tls' },
  ])
  expect(restartDiff(old, running)).toMatchObject([
    { path: 'admin.tls', hint: 'restart the gateway, or put admin.tls back' },
  ])
  expect(restartDiff(old, renewed)).toEqual([])
})

test('any other change needs none', () => {
  const text = `
listen: { basePath: /v1, maxTarget: 1KiB, maxHeaders: 64KiB, maxConnections: 7, timeouts: { headers: 1s }, trustedProxies: [10.0.0.0/8], forwarded: rfc7239, proxyProtocol: { from: [10.0.0.0/28] } }
admin: { token: a-token-of-an-operator, hosts: [gateway.internal] }
log: { level: error, access: false }
reload: { watch: false, preflight: none }
shutdown: { wait: 1s, deadline: 2s }
requestId: { header: none }
defaults: { deadline: 1s, balance: round-robin, outlier: none, retry: {}, tls: { minVersion: TLSv1.3 } }
operations: { market.insights: { state: refuse } }
${sandbox}`

  expect(restartNeeds(running, text)).toEqual([])
})
