import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Config } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { needsRestart } from '../../src/config/restart.ts'
import { folderWith, sandbox } from './helper.ts'

/** Loads a file and asks what of it a gateway on `running` could not take live. */
const asked = (running: Config, text: string) => {
  const file = join(folderWith({ 'gateway.yaml': text }), 'gateway.yaml')
  const loaded = loadConfig(file)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return needsRestart(running, loaded.config, loaded.origins, 'gateway.yaml')
}

const running = (() => {
  const loaded = loadConfig(join(folderWith({ 'gateway.yaml': sandbox }), 'gateway.yaml'))
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return loaded.config
})()

test.each([
  ['listen:\n  host: ::1', 'listen.host', 2, 9, '127.0.0.1', '::1'],
  ['listen:\n  port: 9000', 'listen.port', 2, 9, '8080', '9000'],
  ['listen:\n  basePath: /a\n  via: gw', 'listen.via', 3, 8, 'none', 'gw'],
  ['admin: { host: "::1" }', 'admin.host', 1, 16, '127.0.0.1', '::1'],
  ['admin: { port: 9902 }', 'admin.port', 1, 16, '9901', '9902'],
  ['log: { level: warn, buffer: 1MiB }', 'log.buffer', 1, 29, '16MiB', '1MiB'],
])(
  '%j needs a restart, and the problem names the key, its place and the way back',
  (text, path, line, column, is, found) => {
    const problems = asked(running, `${text}\n${sandbox}`)

    expect(problems).toEqual([
      {
        file: 'gateway.yaml',
        line,
        column,
        path,
        expected: `${is}, which the gateway was started with`,
        found,
        message: `${path} cannot change while the gateway runs: it needs a restart`,
        hint: `restart the gateway, or put ${is} back`,
      },
    ])
  },
)

test('whatever else changes does not', () => {
  const text = `
listen: { basePath: /v1, maxTarget: 1KiB, maxHeaders: 64KiB, maxConnections: 7, timeouts: { headers: 1s }, trustedProxies: [10.0.0.0/8] }
admin: { token: a-token-of-an-operator, hosts: [gateway.internal] }
log: { level: error, access: false }
reload: { watch: false }
shutdown: { wait: 1s, deadline: 2s }
requestId: { header: none }
defaults: { deadline: 1s }
operations: { market.insights: { state: refuse } }
${sandbox}`

  expect(asked(running, text)).toEqual([])
})
