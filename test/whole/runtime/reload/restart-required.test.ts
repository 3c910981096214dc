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

const running = validConfig(sandbox)

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
        ...{ file: 'gateway.yaml', line, column, path, found },
        expected: `${current}, which the gateway was started with`,
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
      ...{ path: 'listen.via', line: 1, column: 16, found: 'gw', hint: 'restart the gateway, or remove listen.via' },
      expected: 'no listen.via, which the gateway was started with',
    },
  ])
  expect(restartNeeds(validConfig(named), sandbox)).toMatchObject([
    { path: 'listen.via', line: 1, column: 1, found: 'nothing', hint: 'restart the gateway, or put gw back' },
  ])
})

test('HTTP/2 switched on or off needs a restart', () => {
  const over = (http2: boolean): Config => ({ ...running, listen: { ...running.listen, http2: http2 ? 'own' : null } })

  for (const [before, after] of [
    [false, true],
    [true, false],
  ] as const) {
    const hint = `restart the gateway, or put ${before} back`
    expect(between(over(before), over(after))).toMatchObject([{ path: 'listen.http2', found: String(after), hint }])
  }
  expect(between(over(true), over(true))).toEqual([])
})

test('a pseudonym of none is a name, not the lack of one', () => {
  expect(restartNeeds(running, `listen: { via: none }\n${sandbox}`)).toMatchObject([
    { path: 'listen.via', found: 'none' },
  ])
})

test('HTTPS switched on or off needs a restart, and a renewed certificate does not', () => {
  const over = (tls: Config['admin']['tls']): Config => ({ ...running, admin: { ...running.admin, tls } })
  const [old, renewed] = [['a', 'b'] as const, ['c', 'd'] as const].map(([certificate, key]) =>
    over({ certificate, key, clientCertificate: null }),
  ) as [Config, Config]
  const needs = (before: Config, after: Config) => between(before, after).map(({ path, hint }) => [path, hint])

  expect(needs(running, old)).toEqual([['admin.tls', 'restart the gateway, or remove admin.tls']])
  expect(needs(old, running)).toEqual([['admin.tls', 'restart the gateway, or put admin.tls back']])
  expect(needs(old, renewed)).toEqual([])
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
operations: { market.insights: { state: reject } }
${sandbox}`

  expect(restartNeeds(running, text)).toEqual([])
})
