import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ListenTlsConfig } from '../../../../src/core/config/config.ts'
import { deriveTicketKeys } from '../../../../src/core/downstream/tls/handshaker.ts'
import { createHandshakeLog } from '../../../../src/core/downstream/tls/tls-acceptor.ts'
import { logInMemory } from '../../../helpers/gateway.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

test('failed handshakes leave one log line a second, which counts the others', () => {
  const { log, lines } = logInMemory()
  const logFailure = createHandshakeLog(log)

  for (let n = 0; n < 1000; n++) logFailure('192.0.2.1', 'ERR_SSL_NO_SHARED_CIPHER')
  logFailure('192.0.2.2', 'ECONNRESET')
  vi.advanceTimersByTime(1000)
  logFailure('192.0.2.3', 'timeout')

  expect(lines.map(({ client, reason, unlogged }) => [client, reason, unlogged])).toEqual([
    ['192.0.2.1', 'ERR_SSL_NO_SHARED_CIPHER', 0],
    ['192.0.2.3', 'timeout', 999],
  ])
})

const none = { clientCertificates: 'none', clientCa: null, clientCrl: [] } as const
const tls: ListenTlsConfig = { certificates: [], minVersion: 'TLSv1.2', ...none }
const withClients: ListenTlsConfig = { ...tls, clientCertificates: 'required', clientCa: 'a', clientCrl: ['b'] }

test('ticket keys follow from the secret, and differ by day and by the settings for client certificates', () => {
  const keyOf = (secret: string, config: ListenTlsConfig, day = 1) =>
    deriveTicketKeys(secret, config, day).toString('hex')
  const keys = [
    ...[keyOf('secret', tls), keyOf('other', tls), keyOf('secret', tls, 2), keyOf('secret', withClients)],
    keyOf('secret', { ...withClients, clientCertificates: 'optional' }),
    keyOf('secret', { ...withClients, clientCrl: ['c'] }),
    keyOf('secret', { ...withClients, clientCa: 'long'.repeat(16 * 1024) }),
  ]

  expect(keyOf('secret', { ...tls, minVersion: 'TLSv1.3' })).toBe(keys[0])
  expect(new Set(keys).size).toBe(7)
  expect(keys.every((key) => key.length === 96)).toBe(true)
})
