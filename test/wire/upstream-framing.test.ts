import type { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dialThrough } from '../helpers/dial-through.ts'
import { openGateway, type TestGateway } from '../helpers/gateway.ts'
import { isWholeResponse, parseStatus } from '../helpers/raw-client.ts'
import { onRequest, openRawUpstream, type RawUpstream } from '../helpers/upstream.ts'
import { call, fieldValues, pseudoRandomBytes, renderHead, sha256 } from '../helpers/wire.ts'

let respond: (socket: Socket) => unknown
let shared: TestGateway
let upstream: RawUpstream
beforeAll(async () => {
  upstream = await openRawUpstream((socket) => onRequest(socket, () => void respond(socket)))
  shared = await openGateway({ upstream: upstream.url, defaults: { outlier: 'none' } })
})
afterAll(async () => {
  await shared.gateway.close()
  await upstream.close()
})

/**
 * Asks a gateway twice, before an upstream that answers each request with these bytes; `ends` closes the connection
 * behind them.
 */
const answered = async (bytes: string, { ends = false } = {}) => {
  respond = (socket) => (ends ? socket.end(bytes) : socket.write(bytes))
  const { port } = shared
  const post = { method: 'POST', target: '/valuation/score', body: Buffer.from('{}') }
  return [await call(port, post), await call(port, post)] as const
}

const chunks = '2\r\nok\r\n0\r\n\r\n'

describe('the transfer coding of an upstream', () => {
  test.each(['Chunked', '  chunked   ', '\tchunked \t'])('(%j) is chunked', async (coding) => {
    for (const response of await answered(`HTTP/1.1 200 OK\r\nTransfer-Encoding: ${coding}\r\n\r\n${chunks}`))
      expect([response.status, response.body.toString()]).toEqual([200, 'ok'])
  })

  test.each(['x', 'chunked, chunked', 'gzip, chunked'])(
    '(%j) is a bad response, and its framing no body',
    async (coding) => {
      const bytes = `HTTP/1.1 200 OK\r\nTransfer-Encoding: ${coding}\r\n\r\n${chunks}`

      for (const response of await answered(bytes, { ends: true })) {
        expect(response.status).toBe(502)
        expect(response.body.toString()).toContain('"bad-answer"')
      }
    },
  )
})

describe('a length with a blank behind it', () => {
  test.each(['2 ', '\t2 \t'])('(%j) is a length', async (length) => {
    for (const response of await answered(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\nok`)) {
      expect(response).toMatchObject({ status: 200, whole: true, body: Buffer.from('ok') })
      expect(fieldValues(response.fields, 'content-length')).toEqual(['2'])
    }
  })

  test('is no failure of the endpoint, and its body may be large', async () => {
    const body = pseudoRandomBytes(1024 * 1024)
    const { port, line } = await dialThrough((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length} \r\n\r\n`)
      socket.write(body)
    })

    expect(await call(port)).toMatchObject({ status: 200, whole: true, sha256: sha256(body) })
    expect(await line(({ msg }) => msg === 'exchange')).not.toHaveProperty('failure')
  })

  test('does not hide that a part of the body is missing', async () => {
    const [response] = await answered('HTTP/1.1 200 OK\r\nContent-Length: 2 \r\n\r\no', { ends: true })

    expect(response.whole).toBe(false)
  })
})

describe('a 205 of an upstream', () => {
  test.each([
    ['nothing more', 'Content-Length: 0\r\n\r\n', false],
    ['a length and a body', 'Content-Length: 2\r\n\r\nok', false],
    ['a body in chunks', `Transfer-Encoding: chunked\r\n\r\n${chunks}`, false],
    ['a body up to the end of the connection', '\r\nok', true],
    ['a body that never ends', 'Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n', false],
  ])('with %s has no content (RFC 9110 §15.3.6)', async (_, rest, ends) => {
    for (const response of await answered(`HTTP/1.1 205 Reset Content\r\nX-A: 1\r\n${rest}`, { ends })) {
      expect(response).toMatchObject({ status: 205, whole: true })
      expect(fieldValues(response.fields, 'x-a')).toEqual(['1'])
      expect(fieldValues(response.fields, 'content-length')).toEqual(['0'])
      expect(response.body).toHaveLength(0)
    }
  })
})

describe('an unasked 100 of an upstream', () => {
  const final = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

  test.each([
    ['in front of the response', `HTTP/1.1 100 Continue\r\n\r\n${final}`],
    ['without a phrase, of HTTP/1.0', `HTTP/1.0 100\r\n\r\n${final}`],
    ['with fields', `HTTP/1.1 100 Continue\r\nX-A: 1\r\n\r\n${final}`],
    ['three times', `${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(3)}${final}`],
  ])('%s is left out (RFC 9110 §15.2)', async (_, bytes) => {
    for (const response of await answered(bytes))
      expect(response).toMatchObject({ status: 200, whole: true, body: Buffer.from('ok'), interim: [] })
  })

  test('that comes long before the response is left out, on one connection each time', async () => {
    const { port, upstream } = await dialThrough((socket) => {
      socket.write('HTTP/1.1 100 Continue\r\n\r\n')
      setImmediate(() => setImmediate(() => socket.write(final)))
    })

    for (let i = 0; i < 3; i++) expect((await call(port)).status).toBe(200)
    expect(upstream.accepted()).toBe(1)
  })

  test('that comes again and again extends no limit', async () => {
    const answer = (socket: Socket): void => {
      const timer = setInterval(() => socket.write('HTTP/1.1 100 Continue\r\n\r\n'), 20)
      socket.once('close', () => clearInterval(timer))
    }
    const { port } = await dialThrough(answer, { defaults: { timeouts: { headers: '200ms' } } })

    expect((await call(port)).status).toBe(504)
  })

  test.each(['100 Continue', '103 Early Hints'])('without end, as %s, is no response', async (status) => {
    const { port } = await dialThrough((socket) => {
      const more = (): void => void (socket.writable && socket.write(`HTTP/1.1 ${status}\r\n\r\n`.repeat(100), more))
      more()
    })

    expect((await call(port)).status).toBe(502)
  })

  test('in a body is a part of it', async () => {
    const body = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.2'
    const { port } = await dialThrough((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`)
      setImmediate(() => setImmediate(() => socket.write(body)))
    })

    expect((await call(port)).body.toString()).toBe(body)
  })
})

test('a response of HTTP/1.9 is read as one of HTTP/1.1 (RFC 9110 §2.5)', async () => {
  for (const response of await answered('HTTP/1.9 200 OK\r\nContent-Length: 2\r\n\r\nok'))
    expect(response).toMatchObject({ status: 200, version: '1.1', body: Buffer.from('ok') })
})

test.each([
  ['of a length', 'Content-Length: 2', 'ok'],
  ['in chunks', 'Transfer-Encoding: chunked', '2\r\nok\r\n0\r\n\r\n'],
  ['that ends with the connection', 'Connection: close', 'ok'],
])('a client has status and fields before the first byte of a body %s', async (_, field, body) => {
  let sendBody = (): void => {}
  const { client } = await dialThrough((socket) => {
    socket.write(`HTTP/1.1 200 OK\r\n${field}\r\n\r\n`)
    sendBody = () => void socket.end(body)
  })

  client.send(renderHead({}))
  const head = await client.until((text) => text.endsWith('\r\n\r\n'))
  sendBody()
  const { received } = await client.ended()

  expect([parseStatus(head), isWholeResponse(received)]).toEqual([200, true])
  expect(received.slice(head.length)).toContain('ok')
})
