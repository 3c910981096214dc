import { expect, test } from 'vitest'
import type { ListenTlsConfig } from '../../../../src/core/config/config.ts'
import { deriveTicketKeys } from '../../../../src/core/downstream/tls/handshaker.ts'

const tls: ListenTlsConfig = {
  certificates: [],
  minVersion: 'TLSv1.2',
  clientCertificates: 'none',
  clientCa: null,
  clientCrl: [],
}
const withClients: ListenTlsConfig = { ...tls, clientCertificates: 'required', clientCa: 'a', clientCrl: ['b'] }

test('ticket keys follow from the secret, and differ each day and with the settings for client certificates', () => {
  const keys = [
    deriveTicketKeys('secret', tls, 1),
    deriveTicketKeys('other', tls, 1),
    deriveTicketKeys('secret', tls, 2),
    deriveTicketKeys('secret', withClients, 1),
    deriveTicketKeys('secret', { ...withClients, clientCertificates: 'optional' }, 1),
    deriveTicketKeys('secret', { ...withClients, clientCrl: ['c'] }, 1),
    deriveTicketKeys('secret', { ...withClients, clientCa: 'long'.repeat(16 * 1024) }, 1),
  ].map((key) => key.toString('hex'))

  const other: ListenTlsConfig = { ...tls, minVersion: 'TLSv1.3' }
  expect(deriveTicketKeys('secret', other, 1).toString('hex')).toBe(keys[0])
  expect(new Set(keys).size).toBe(keys.length)
  expect(keys.every((key) => key.length === 96)).toBe(true)
})
