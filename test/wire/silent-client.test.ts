import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Certificates, makeCertificates } from '../helpers/certificates.ts'
import { bootGateway } from '../helpers/gateway.ts'
import { needProgram } from '../helpers/program.ts'
import { parseStatus, rawClient } from '../helpers/raw-client.ts'
import { tlsHandshake } from '../helpers/tls-client.ts'
import { bootTlsGateway } from '../helpers/tls-gateway.ts'
import { httpUpstream } from '../helpers/upstream.ts'

const openssl = await needProgram('openssl')

const get = 'GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n'
const timeouts = { headers: '600ms', keepAlive: '600ms' }

// A 408 that no request has asked for is taken for the response to the next one: RFC 9110 §15.5.9 leaves it open
// whether to send one.
describe('a client that sends nothing of a request in time', () => {
  test('gets nothing on a connection on which it has never sent a byte', async () => {
    const { port, lines } = await bootGateway({ listen: { timeouts } })
    const client = await rawClient(port)

    expect(await client.ended()).toEqual({ received: '', how: 'end' })
    expect(lines.filter(({ msg }) => msg === 'exchange')).toEqual([])
  })

  test('gets nothing more on a connection that has served one', async () => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url, listen: { timeouts } })
    const client = await rawClient(port)

    client.send(get)
    const { received, how } = await client.ended()

    expect(parseStatus(received)).toBe(200)
    expect(received.match(/^HTTP\/1\.1 /gm)).toHaveLength(1)
    expect(how).toBe('end')
  })

  test.each([
    ['its first', ''],
    ['a further', get],
  ])('gets 408 when it has sent a part of %s head', async (_, before) => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url, listen: { timeouts } })
    const client = await rawClient(port)

    client.send(`${before}${get.slice(0, -2)}`)
    const { received } = await client.ended()

    expect(received.match(/^HTTP\/1\.1 \d+/gm)?.at(-1)).toBe('HTTP/1.1 408')
  })

  describe.skipIf(openssl.missing !== null)('over TLS', () => {
    let made: Certificates
    beforeAll(() => {
      made = makeCertificates(openssl.path ?? '')
    })

    test.each([
      ['nothing, and has its connection closed in order, when it has not sent a byte', '', ''],
      ['408 when it has sent a part of a head', 'GET /', 'HTTP/1.1 408'],
    ])('gets %s', async (_, sent, told) => {
      const { port } = await bootTlsGateway(made.right, {}, { listen: { timeouts } })
      const { socket } = await tlsHandshake(port)

      socket.write(sent)
      const received = await text(socket) // rejects if it ends in another way than in order

      expect(received.slice(0, 12)).toBe(told)
    })
  })
})
