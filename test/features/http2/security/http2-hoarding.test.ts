import { constants } from 'node:http2'
import { expect, test } from 'vitest'
import { bootHttp2, codeOf, frame, frameClient, head, missing } from '../../../helpers/http2.ts'
import { rawUpstream } from '../../../helpers/upstream.ts'

test.skipIf(missing !== null)(
  'connections that are kept for nothing are closed, whatever else is said on them',
  async () => {
    const { port } = await bootHttp2({ listen: { timeouts: { keepAlive: '200ms' } } })
    const clients = await Promise.all(Array.from({ length: 30 }, () => frameClient(port)))

    for (const client of clients) {
      await client.send(head(1), frame(8, 0, 0, Buffer.from([0, 0, 0, 1])))
      await client.frame(({ stream, flags }) => stream === 1 && (flags & 1) === 1)
    }

    await Promise.all(clients.map((client) => client.ended()))
    expect(clients.map(({ frames }) => frames.filter(({ type }) => type === 7).map(codeOf))).toEqual(
      clients.map(() => [0]),
    )
  },
)

test.skipIf(missing !== null)('a connection has a hundred requests under way, and not one more', async () => {
  const silent = await rawUpstream(() => {})
  const { port } = await bootHttp2({ upstream: silent.url })
  const client = await frameClient(port)
  const heads = (from: number, count: number) => Array.from({ length: count }, (_, n) => head(from + 2 * n))

  await client.send(...heads(1, 101))
  const rejected = await client.frame(({ type }) => type === 3)

  expect(rejected).toMatchObject({ stream: 201 })
  client.socket.destroy() // or the gateway would wait for those that are under way
  expect(rejected && codeOf(rejected)).toBe(constants.NGHTTP2_REFUSED_STREAM)
})

test.skipIf(missing !== null)('a client that goes on beyond them loses its connection', async () => {
  const silent = await rawUpstream(() => {})
  const { port } = await bootHttp2({ upstream: silent.url })
  const client = await frameClient(port)

  for (let stream = 1; stream < 2000 && !client.socket.destroyed; stream += 100)
    await client.send(...Array.from({ length: 50 }, (_, n) => head(stream + 2 * n)))

  await client.ended()
})
