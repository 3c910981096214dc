import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls, { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, onTestFinished, test, vi } from 'vitest'
import { connectRedis } from '../../../src/features/redis/redis-connection.ts'
import type { RedisTls } from '../../../src/features/redis/redis-settings.ts'
import { makeCertificates } from '../../helpers/certificates.ts'
import { needProgram } from '../../helpers/program.ts'
import { startRedis } from '../../helpers/redis.ts'
import { switchVerificationOff } from '../../helpers/unverified-tls.ts'
import { redisSettings } from './redis-settings.ts'

const [server, openssl] = [await needProgram('redis-server'), await needProgram('openssl')]

test.skipIf(server.missing ?? openssl.missing)('rediss: is TLS, to a server whose certificate verifies', async () => {
  const { authority, right } = makeCertificates(openssl.path ?? '')
  const folder = mkdtempSync(join(tmpdir(), 'redis-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  writeFileSync(cert, right.cert)
  writeFileSync(key, right.key)
  const tls = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-auth-clients', 'no']
  const redis = await startRedis(server.path ?? '', ['--port', '0', '--tls-port', '{port}', ...tls])
  onTestFinished(() => redis.kill())
  const connect = connectRedis(redisSettings({ url: `rediss://localhost:${redis.port}` }))
  switchVerificationOff()

  await expect(connect(() => {})).rejects.toThrow('unable to get local issuer certificate')
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, authority.cert])
  onTestFinished(() => setDefaultCACertificates(before))

  const connection = await connect(() => {})
  onTestFinished(() => connection.destroy())
  expect(await connection.consume('key', 1, 2)).toBe(1)
})

test.skipIf(server.missing ?? openssl.missing)(
  'an authority of its own and a certificate of the gateway, in the configuration',
  async () => {
    const { authority, right, client, selfSigned } = makeCertificates(openssl.path ?? '')
    const folder = mkdtempSync(join(tmpdir(), 'redis-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const files = { ca: authority.cert, cert: right.cert, key: right.key }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    const tls = [
      ...['--tls-ca-cert-file', join(folder, 'ca')],
      ...['--tls-cert-file', join(folder, 'cert')],
      ...['--tls-key-file', join(folder, 'key')],
    ]
    const redis = await startRedis(server.path ?? '', ['--port', '0', '--tls-port', '{port}', ...tls])
    onTestFinished(() => redis.kill())
    const url = `rediss://localhost:${redis.port}`
    const shown = { certificate: client.cert, key: client.key }
    const connect = (tls: RedisTls | null) => connectRedis(redisSettings({ url, tls }), 30_000)(() => {})

    const connection = await connect({ ca: authority.cert, ...shown })
    onTestFinished(() => connection.destroy())
    expect(await connection.consume('key', 1, 2)).toBe(1)

    await expect(connect(null)).rejects.toThrow('certificate')
    await expect(connect({ ca: selfSigned.cert, ...shown })).rejects.toThrow('certificate')
    await expect(connect({ ca: authority.cert, certificate: null, key: null })).rejects.toThrow()
  },
)

// A file of authorities takes milliseconds to read: with 20 Sentinels that are away, that took two thirds of a core.
test('servers that are tried again and again cost one reading of the authorities', async () => {
  const readsAuthorities = vi.spyOn(tls, 'createSecureContext')
  syncBuiltinESMExports()
  onTestFinished(() => {
    readsAuthorities.mockRestore()
    syncBuiltinESMExports()
  })
  const own: RedisTls = { ca: getCACertificates('bundled')[0] ?? '', certificate: null, key: null }
  const connect = connectRedis(redisSettings({ sentinels: ['127.0.0.1:1', '127.0.0.1:2'], name: 'main', tls: own }))

  for (let tries = 0; tries < 2; tries++) await expect(connect(() => {})).rejects.toThrow('ECONNREFUSED')

  expect(readsAuthorities).toHaveBeenCalledTimes(1)
})
