import { expect, test } from 'vitest'
import type { ListenTlsConfig } from '../../../src/config/config.ts'
import { deriveTicketKeys } from '../../../src/downstream/tls/session-tickets.ts'

const tls: ListenTlsConfig = {
  certificates: [],
  minVersion: 'TLSv1.2',
  clientCertificates: 'none',
  clientCa: null,
  clientCrl: [],
}
const asking: ListenTlsConfig = { ...tls, clientCertificates: 'required', clientCa: 'a', clientCrl: ['b'] }

test('keys of tickets are the same for whoever knows the secret, and others each day and when clients are judged in another way', () => {
  const keys = [
    deriveTicketKeys('secret', tls, 1),
    deriveTicketKeys('other', tls, 1),
    deriveTicketKeys('secret', tls, 2),
    deriveTicketKeys('secret', asking, 1),
    deriveTicketKeys('secret', { ...asking, clientCertificates: 'optional' }, 1),
    deriveTicketKeys('secret', { ...asking, clientCrl: ['c'] }, 1),
  ].map((key) => key.toString('hex'))

  const other: ListenTlsConfig = { ...tls, minVersion: 'TLSv1.3' }
  expect(deriveTicketKeys('secret', other, 1).toString('hex')).toBe(keys[0])
  expect(new Set(keys).size).toBe(keys.length)
  expect(keys.every((key) => key.length === 96)).toBe(true)
})
