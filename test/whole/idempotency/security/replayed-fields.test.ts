import { expect, test } from 'vitest'
import { once, send } from '../../../features/idempotency/wire/keyed-post.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootHttp2, dialHttp2, missing, requestHttp2 } from '../../../helpers/http2.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { withoutFields } from '../../../helpers/wire.ts'

// The attack: a response with fields of one connection or one session is replayed on another.
test('a replay has each end-to-end field of the first response, byte for byte, and no cookie', async () => {
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, () =>
      socket.end(
        Buffer.from(
          [
            'HTTP/1.1 201 Made',
            'Connection: close, X-Nominated',
            'Keep-Alive: timeout=5',
            'Proxy-Authenticate: Basic',
            'Trailer: X-Late',
            'X-Nominated: 1',
            'Set-Cookie: session=first',
            'set-cookie: other=first',
            'X-Twice: 1',
            'x-twice: 2',
            'X-Latin: caf\xe9 "\\',
            'X-Empty:',
            'Content-Type: application/octet-stream',
            'Content-Length: 4',
            '',
            '\0\xff\r\n',
          ].join('\r\n'),
          'latin1',
        ),
      ),
    ),
  )
  const { port } = await bootGateway({ upstream: upstream.url, ...once })

  const [first, second] = [await send(port, 'k-1'), await send(port, 'k-1')]

  const names = first.fields.filter((_, i) => i % 2 === 0)
  for (const gone of ['Keep-Alive', 'Proxy-Authenticate', 'Trailer', 'X-Nominated']) expect(names).not.toContain(gone)
  expect(names).toContain('set-cookie')
  expect([second.status, second.reason, second.body]).toEqual([201, 'Made', first.body])
  // The request's own id is of each request.
  const own = ['X-Request-Id', 'Date']
  expect(withoutFields(second.fields, ...own, 'Idempotency-Replayed')).toEqual(
    withoutFields(first.fields, ...own, 'Set-Cookie'),
  )
  expect(upstream.accepted()).toBe(1)
})

test.skipIf(missing)('a key means the same on HTTP/2', async () => {
  const upstream = await httpUpstream((_, response) => response.writeHead(201, { Connection: 'close' }).end('done'))
  const { port } = await bootHttp2({ upstream: upstream.url, ...once })
  const session = dialHttp2(port)
  const sendOn = (key: string) =>
    requestHttp2(session, { ':method': 'POST', ':path': '/valuation/score', 'idempotency-key': key }, 'abc')

  const [first, second, twin] = [await sendOn('k-1'), await sendOn('"k-1"'), await sendOn('k-1, k-2')]

  expect([first, second, twin].map(({ status }) => status)).toEqual([201, 201, 400])
  expect(second.fields).toContain('idempotency-replayed')
  expect(second.body.toString()).toBe('done')
  expect(upstream.requests).toHaveLength(1)
})
