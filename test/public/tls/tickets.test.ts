import { expect, test } from 'vitest'
import type { ListenTlsConfig } from '../../../src/config/config.ts'
import { ticketKeys } from '../../../src/public/tls/tickets.ts'

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
    ticketKeys('secret', tls, 1),
    ticketKeys('other', tls, 1),
    ticketKeys('secret', tls, 2),
    ticketKeys('secret', asking, 1),
    ticketKeys('secret', { ...asking, clientCertificates: 'optional' }, 1),
    ticketKeys('secret', { ...asking, clientCrl: ['c'] }, 1),
  ].map((key) => key.toString('hex'))

  const other: ListenTlsConfig = { ...tls, minVersion: 'TLSv1.3' }
  expect(ticketKeys('secret', other, 1).toString('hex')).toBe(keys[0])
  expect(new Set(keys).size).toBe(keys.length)
  expect(keys.every((key) => key.length === 96)).toBe(true)
})
