/** Floods of frames as Node's codec and nghttp2 bound them; those of the own codec are in test/security/http2. */
import { expect } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { block, frame, frameClient, get, head, listenHttp2 } from '../../../helpers/http2.ts'
import { floodOf, ping, test } from '../../../helpers/http2-attack.ts'
import { rawUpstream } from '../../../helpers/upstream.ts'

const bootWithFrameClient = async () => {
  const upstream = await rawUpstream(() => {})
  const gateway = await bootGateway({ upstream: upstream.url, listen: listenHttp2('node') })
  return { ...gateway, upstream, client: await frameClient(gateway.port) }
}

test('a flood of PING ends its connection', async () => {
  const { client, line } = await bootWithFrameClient()

  await floodOf(() => [ping])(client)

  expect(await line(({ reason }) => reason === 'too-many-frames')).toMatchObject({ status: 400 })
})

// CVE-2025-8671: the client makes the gateway reset its requests, by too many trailers.
test('requests that the gateway has to reset end their connection', async () => {
  const { client, upstream, line } = await bootWithFrameClient()
  const trailers = block(...Array.from({ length: 1000 }, () => 'x'))

  for (let first = 1; first < 4000 && !client.socket.destroyed; first += 50) {
    const streams = Array.from({ length: 25 }, (_, n) => first + 2 * n)
    const post = (id: number): Buffer[] => [head(id, get('/valuation/score', 'POST'), false), frame(1, 5, id, trailers)]
    await client.send(...streams.flatMap(post))
    await client.frame((each) => each.type === 3 && each.stream === streams.at(-1))
  }

  expect(await line(({ reason }) => reason === 'too-many-broken-streams')).toMatchObject({ status: 400 })
  expect(upstream.accepted()).toBeLessThan(500)
})

// Each code takes another path through Node, and none may end in an error without a listener.
test('bodies that are broken off, with any code, do not end the connection', async () => {
  const { port, lines, line } = await bootGateway({ listen: listenHttp2('node') })
  const client = await frameClient(port)

  for (const [nth, code] of [0, 1, 2, 8, 11].entries()) {
    const stream = 4 * nth + 1
    const post = head(stream, get('/valuation/score', 'POST'), false)
    const data = frame(0, 0, stream, Buffer.from('abc'))
    await client.send(post, data, frame(3, 0, stream, Buffer.from([0, 0, 0, code])), head(stream + 2))
    await client.frame((each) => each.type === 1 && each.stream === stream + 2)
  }

  await line(() => lines.filter(({ operation }) => operation === 'market.insights').length === 5)
})
