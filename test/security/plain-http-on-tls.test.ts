import { connect as connectTls } from 'node:tls'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Certificates, makeCertificates } from '../helpers/certificates.ts'
import { openGateway } from '../helpers/gateway.ts'
import { needProgram } from '../helpers/program.ts'
import { parseStatus, rawClient } from '../helpers/raw-client.ts'
import { bootTlsGateway } from '../helpers/tls-gateway.ts'

const openssl = await needProgram('openssl')

// The attack: an eavesdropper makes a client leave out TLS. Nothing is served in the clear, and the client gets an
// error in plain HTTP.
describe.skipIf(openssl.missing)('plain HTTP where TLS is spoken', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  test('is answered 400 in the shape of every other error, then closed, and leaves a line', async () => {
    const { port, line } = await bootTlsGateway(made.right)
    const client = await rawClient(port)
    client.send('GET /market/insights HTTP/1.1\r\nHost: localhost\r\n\r\n')

    const { received, how } = await client.ended()

    expect(parseStatus(received)).toBe(400)
    expect(how).toBe('end')
    const [head = '', body = ''] = received.split('\r\n\r\n')
    expect(head).toMatch(/^content-type: application\/problem\+json\r$/im)
    expect(head).toMatch(/^connection: close$/im)
    const { requestId, ...problem } = JSON.parse(body)
    expect(problem).toEqual({ type: 'about:blank', title: 'Bad Request', status: 400, code: 'bad-request' })
    expect(await line((each) => each.requestId === requestId)).toMatchObject({
      status: 400,
      failure: 'bad-request',
      cause: 'plain HTTP where TLS is spoken',
      client: '127.0.0.1',
    })
  })

  test('the other way round is named in the log: TLS where plain HTTP is spoken', async () => {
    const { gateway, port, line } = await openGateway()
    onTestFinished(() => gateway.close())
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    const refused = new Promise((resolve) => socket.once('error', resolve))

    expect(await line(({ reason }) => reason === 'tls-on-plain-port')).toMatchObject({
      status: 400,
      failure: 'bad-request',
      cause: 'TLS where plain HTTP is spoken',
    })
    await refused
  })

  test('HEAD is answered without a body', async () => {
    const { port } = await bootTlsGateway(made.right)
    const client = await rawClient(port)
    client.send('HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n')

    expect((await client.ended()).received).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\n\r\n$/)
  })

  test('a client that goes on sending gets the response all the same', async () => {
    const { port } = await bootTlsGateway(made.right)
    const client = await rawClient(port)
    client.send(
      `POST /valuation/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(500_000)}`,
    )

    expect(parseStatus((await client.ended()).received)).toBe(400)
  })
})
