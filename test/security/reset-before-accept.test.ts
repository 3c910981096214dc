/** A client resets its connection before the gateway has accepted it: the system no longer knows its address. */
import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { httpUpstream } from '../helpers/upstream.ts'

/** Sends bytes on a connection and resets it, while this thread, which would accept it, stands still. */
const sendAndReset = (port: number, bytes: Buffer): void => {
  const script = `require('node:net').connect(${port}, '127.0.0.1', function () {
    this.write(Buffer.from('${bytes.toString('base64')}', 'base64'))
    this.resetAndDestroy()
  })`
  const { status } = spawnSync(process.execPath, ['-e', script])
  expect(status).toBe(0)
}

describe.each([
  ['a request', Buffer.from('GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n')],
  ['a PROXY protocol header that is not taken', Buffer.from('0d0a0d0a000d0a515549540a20000000', 'hex')],
])('%s on a connection that is reset before it is accepted', (_, bytes) => {
  test('is not served, and stands nowhere as one of no address', async () => {
    const upstream = await httpUpstream()
    const { port, url, lines, line } = await bootGateway({ upstream: upstream.url })

    sendAndReset(port, bytes)

    expect((await fetch(`${url}/market/insights`)).status).toBe(200)
    await line(({ msg, status }) => msg === 'exchange' && status === 200)
    expect(lines.filter(({ msg }) => msg === 'exchange')).toMatchObject([{ client: '127.0.0.1', status: 200 }])
    expect(upstream.begun()).toBe(1)
  })
})
