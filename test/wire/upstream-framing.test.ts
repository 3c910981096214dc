import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { dialThrough } from '../helpers/dial-through.ts'
import { call } from '../helpers/wire.ts'

// response-parser.test.ts has the framing of responses: these tests check what comes between in time.
describe('an unasked 100 of an upstream', () => {
  const final = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

  test('an unasked 100 of an upstream, long before the response, is left out, three times on one connection', async () => {
    const { port, upstream } = await dialThrough((socket) => {
      socket.write('HTTP/1.1 100 Continue\r\nX-A: 1\r\n\r\n'.repeat(3))
      setImmediate(() => setImmediate(() => socket.write(final)))
    })

    for (let i = 0; i < 3; i++)
      expect(await call(port)).toMatchObject({ status: 200, whole: true, body: Buffer.from('ok'), interim: [] })
    expect(upstream.accepted()).toBe(1)
  })

  test('an unasked 100 of an upstream that comes repeatedly extends no limit', async () => {
    const respond = (socket: Socket): void => {
      const timer = setInterval(() => socket.write('HTTP/1.1 100 Continue\r\n\r\n'), 20)
      socket.once('close', () => clearInterval(timer))
    }
    const { port } = await dialThrough(respond, { defaults: { timeouts: { headers: '200ms' } } })

    expect((await call(port)).status).toBe(504)
  })

  test.each(['100 Continue', '103 Early Hints'])('endless %s of an upstream is no response', async (status) => {
    const { port } = await dialThrough((socket) => {
      const more = (): void => void (socket.writable && socket.write(`HTTP/1.1 ${status}\r\n\r\n`.repeat(100), more))
      more()
    })

    expect((await call(port)).status).toBe(502)
  })
})
