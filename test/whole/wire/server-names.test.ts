import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { callAdmin } from '../../../src/core/cli/client/admin-client.ts'
import { toServerName } from '../../../src/core/lib/net/tls.ts'
import { checkReachable } from '../../../src/core/upstream/health/preflight.ts'
import { createHttpClient } from '../../../src/features/auth/tokens/http-client.ts'
import { connectRedis } from '../../../src/features/redis/redis-connection.ts'
import type { RedisSettings } from '../../../src/features/redis/redis-settings.ts'
import { emptySpanCounts, trackSpanExports } from '../../../src/features/tracing/export-stats.ts'
import { loadSdk } from '../../../src/features/tracing/sdk.ts'
import { openOtlpTransport } from '../../../src/features/tracing/span-exporter.ts'
import { adminTarget } from '../../core/cli/scripted-admin.ts'
import { redisSettings } from '../../features/redis/redis-settings.ts'
import { needCertificates } from '../../helpers/certificates.ts'
import { bootGateway } from '../../helpers/gateway.ts'
import { httpsUpstream } from '../../helpers/https-upstream.ts'
import { upstreamConfig } from '../../helpers/upstream-config.ts'
import { call } from '../../helpers/wire.ts'

// RFC 6066 §3: the name that a client asks for in TLS has no dot at its end, and is no address.

test.each([
  ['risk.internal', 'risk.internal'],
  ['risk.internal.', 'risk.internal'],
  ['127.0.0.1', ''],
  ['127.0.0.1.', ''],
  ['::1', ''],
  ['[::1]', ''],
  ['[fe80::1%eth0]', ''],
])('%s is asked for as "%s"', (host, name) => {
  expect(toServerName(host)).toBe(name)
})

const { made, missing } = await needCertificates()

beforeAll(() => loadSdk())

/** Resolves every name to loopback until the test has finished: `localhost.` has no address on every machine. */
const resolveAll = (): void => {
  const lookup = vi.spyOn(dns, 'lookup').mockImplementation(((_: string, options: dns.LookupOptions, done: unknown) => {
    const found = { address: '127.0.0.1', family: 4 }
    const call = done as (error: null, ...found: unknown[]) => void
    if (options.all === true) call(null, [found])
    else call(null, found.address, found.family)
  }) as never)
  syncBuiltinESMExports()
  onTestFinished(() => {
    lookup.mockRestore()
    syncBuiltinESMExports()
  })
}

/** Connects to `localhost.`. Rejects when the certificate does not verify. */
type Client = (port: number, requests: () => number) => Promise<unknown>

const at = (port: number): string => `https://localhost.:${port}`

const limits = { timeoutMs: 20_000, maxBytes: 1000, connections: 1 }

const redisClient =
  (toSettings: (port: number) => Partial<RedisSettings>): Client =>
  (port) =>
    // The server speaks HTTP, but its certificate verifies.
    connectRedis(
      redisSettings(toSettings(port)),
      20_000,
    )(() => {}).catch((error: Error) => expect(error.message).not.toMatch(/certificate|altname/))

const systemTls = { ca: null, certificate: null, key: null }

const clients: readonly (readonly [name: string, client: Client])[] = [
  [
    'an upstream',
    async (port) => {
      const gateway = await bootGateway({ upstream: at(port) })
      // RFC 9110 §7.2: Host is the authority of the URL, as it stands there.
      expect(JSON.parse((await call(gateway.port)).body.toString())).toMatchObject({ host: `localhost.:${port}` })
    },
  ],
  ['a check of an endpoint', (port) => checkReachable(at(port), upstreamConfig(at(port)), 'connect')],
  [
    'an issuer or an introspection endpoint',
    async (port) => {
      const client = createHttpClient(new URL(`${at(port)}/keys`), limits)
      onTestFinished(() => client.close())
      const { text } = await client.request({ method: 'GET', headers: {} })
      expect(JSON.parse(text)).toMatchObject({ host: `localhost.:${port}` })
    },
  ],
  [
    'a collector',
    (port, requests) =>
      new Promise((resolve) => {
        const stats = trackSpanExports(emptySpanCounts(), () => {})
        const options = { url: `${at(port)}/v1/traces`, headers: [], serviceName: 'gateway' }
        const transport = openOtlpTransport(options, 20_000, stats, { onSend() {}, isClosing: () => false })
        onTestFinished(() => transport.destroy())
        transport.export([], resolve)
      }).then(() => expect(requests()).toBe(1)),
  ],
  ['Redis', redisClient((port) => ({ url: `rediss://localhost.:${port}` }))],
  ['a Sentinel', redisClient((port) => ({ sentinels: [`localhost.:${port}`], name: 'main', tls: systemTls }))],
  ['a node of a cluster', redisClient((port) => ({ cluster: [`rediss://localhost.:${port}`] }))],
  [
    'an admin listener',
    (port) => {
      const asked = { method: 'GET', path: '/status', timeoutMs: 20_000 } as const
      return callAdmin(adminTarget(port, { tls: true, host: 'localhost.' }), asked)
    },
  ],
]

test.skipIf(missing).each(clients)('%s at https://localhost.:PORT is asked for localhost', async (_, client) => {
  const { authority, right } = made
  const ordinary = getCACertificates('default')
  setDefaultCACertificates([...ordinary, authority.cert])
  onTestFinished(() => setDefaultCACertificates(ordinary))
  resolveAll()
  const asked: unknown[] = []
  const server = await httpsUpstream(right, {
    SNICallback(name, done) {
      asked.push(name)
      done(null)
    },
  })

  await client(server.port, server.requests)

  expect(new Set(asked)).toEqual(new Set(['localhost']))
})
