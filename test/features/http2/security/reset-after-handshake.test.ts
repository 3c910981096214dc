/** A client resets its connection right behind its handshake: the system no longer knows its address. */
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { bootHttp2, frame, head, missing } from '../../../helpers/http2.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

/** Sends bytes with the last ones of a handshake and resets the connection, before the gateway has read either. */
const sendAndReset = async (port: number, protocol: string, bytes: Buffer): Promise<void> => {
  const raw = connectTcp(port, '127.0.0.1')
  await once(raw, 'connect')
  const secured = connectTls({ socket: raw, rejectUnauthorized: false, ALPNProtocols: [protocol] })
  await once(secured, 'secureConnect')
  secured.write(bytes)
  raw.resetAndDestroy()
}

describe.skipIf(missing !== null).each([
  ['http/1.1', Buffer.from('GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n')],
  ['h2', Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0), head(1)])],
])('a request over %s on a connection that is reset right behind its handshake', (protocol, bytes) => {
  test('is not served, and stands nowhere as one of no address', async () => {
    const upstream = await httpUpstream()
    const { port, lines, line } = await bootHttp2({ upstream: upstream.url })

    await sendAndReset(port, protocol, bytes)

    expect((await requestOverTls(port)).status).toBe(200)
    await line(({ msg, status }) => msg === 'exchange' && status === 200)
    expect(lines.filter(({ msg }) => msg === 'exchange')).toMatchObject([{ client: '127.0.0.1', status: 200 }])
    expect(upstream.begun()).toBe(1)
  })
})
