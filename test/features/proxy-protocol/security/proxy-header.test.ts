import { beforeAll, describe, expect, test } from 'vitest'
import { makeCertificates } from '../../../helpers/certificates.ts'
import { openGateway, type TestGateway } from '../../../helpers/gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { parseStatus, rawClient } from '../../../helpers/raw-client.ts'
import { bootTlsGateway } from '../../../helpers/tls-gateway.ts'
import { bareGet } from '../../../helpers/wire.ts'

const openssl = await needProgram('openssl')

// A load balancer that is configured to send the header, or a client that forges one. The gateway believes nothing in
// it, and logs its version.
const request = bareGet()
const v1 = `PROXY TCP4 192.0.2.7 192.0.2.8 56324 443\r\n${request}`
const address = Buffer.from([192, 0, 2, 7, 192, 0, 2, 8, 0xdc, 0x04, 0x01, 0xbb])
const signature = '\r\n\r\n\0\r\nQUIT\n'
const v2 = Buffer.concat([Buffer.from(`${signature}\x21\x11\0\x0c`, 'latin1'), address, Buffer.from(request)])

const headers: readonly (readonly [string, string | Buffer, number])[] = [
  ['version 1', v1, 1],
  ['version 1, of an unknown protocol', `PROXY UNKNOWN\r\n${request}`, 1],
  ['version 2', v2, 2],
]

const asked = async (port: number, first: string | Buffer): Promise<string> => {
  const client = await rawClient(port)
  client.send(first)
  return (await client.ended()).received
}

const named = (version: number) => ({
  failure: 'bad-request',
  reason: 'proxy-header',
  client: '127.0.0.1',
  cause: expect.stringContaining(`a PROXY protocol header, version ${version}, from an address`),
})

describe('a PROXY protocol header gets 400 as before, and is named in the log', () => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await openGateway()
    return gateway.gateway.close
  })

  /** Sends bytes, and returns the response and its log line. */
  const sendToHttp = async (first: string | Buffer) => {
    const received = await asked(gateway.port, first)
    const [, requestId] = /"requestId":"([^"]+)"/.exec(received) ?? []
    return { received, logged: await gateway.line((each) => each.requestId === requestId) }
  }

  test.each(headers)('where HTTP is spoken: %s', async (_, first, version) => {
    const { received, logged } = await sendToHttp(first)

    expect(parseStatus(received)).toBe(400)
    expect(logged).toMatchObject(named(version))
    expect(JSON.stringify(logged)).not.toContain('192.0.2')
  })

  test.skipIf(openssl.missing)('where TLS is spoken', async () => {
    const { port, lines, line } = await bootTlsGateway(makeCertificates(openssl.path ?? '').right)
    const rejected = () => lines.filter(({ failure }) => failure === 'bad-request')

    for (const [, first] of headers) expect(parseStatus(await asked(port, first))).toBe(400)

    await line(() => rejected().length === headers.length)
    expect(rejected()).toMatchObject(headers.map(([, , version]) => named(version)))
  })

  test.each([
    ['a method of that name', 'PROXY /market/insights HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['empty lines and a NUL', '\r\n\r\n\0QUIT'],
    ['a request behind whose head it stands', `GET /market/insights HTTP/1.1\r\nHost: a b\r\n\r\n${v1}`],
  ])('%s is not read as a PROXY protocol header', async (_, first) => {
    const { logged } = await sendToHttp(first)

    expect(logged).toMatchObject({ failure: 'bad-request', reason: expect.not.stringMatching('proxy-header') })
  })
})
