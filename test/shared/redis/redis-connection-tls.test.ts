import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { connectRedis } from '../../../src/shared/redis/redis-connection.ts'
import { makeCertificates } from '../../helpers/certificates.ts'
import { needProgram } from '../../helpers/program.ts'
import { startRedis } from '../../helpers/redis.ts'
import { redisSettings } from '../../helpers/redis-settings.ts'

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

  await expect(connect(() => {})).rejects.toThrow('unable to verify the first certificate')
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, authority.cert])
  onTestFinished(() => setDefaultCACertificates(before))

  const connection = await connect(() => {})
  onTestFinished(() => connection.destroy())
  expect(await connection.consume('key', 1, 2)).toBe(1)
})
