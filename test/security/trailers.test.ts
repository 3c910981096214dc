import { expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { isWholeResponse, parseStatus, rawClient } from '../helpers/raw-client.ts'
import { httpUpstream } from '../helpers/upstream.ts'
import { call, eventually } from '../helpers/wire.ts'

// The attack: fields behind the body. They come when all checks are over, and a back end that merges them into the head
// takes a length, an authorization or a client's address from there. Or they have no end.
const post = (trailers: string): string =>
  `POST /inventory/sync HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n${trailers}`

test('trailers reach no upstream', async () => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url })
  const client = await rawClient(port)

  client.send(post('Authorization: stolen\r\nX-Forwarded-For: 10.0.0.1\r\nHost: other\r\n\r\n'))
  await client.until(isWholeResponse)
  client.close()

  expect(JSON.stringify(upstream.requests[0]?.rawHeaders)).not.toMatch(/stolen|10\.0\.0\.1|other/)
})

test.each([
  ['one trailer', `A: ${'b'.repeat(1024)}`, 'b'.repeat(1024)],
  ['trailers', '', `A: ${'b'.repeat(100)}\r\n`],
])(
  '%s without an end: the request is rejected, nothing of it ends cleanly, and another client is served',
  async (_, first, more) => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url })
    const client = await rawClient(port)

    client.send(post(first))
    await eventually(() => upstream.begun() === 1)
    for (let sent = 0; sent < 1000; sent++) client.send(more)
    const { received } = await client.ended()
    const other = await call(port, { target: '/market/insights' })

    expect(parseStatus(received)).toBe(431)
    expect(other.status).toBe(200)
    expect(upstream.requests.map(({ method }) => method)).toEqual(['GET'])
  },
)
