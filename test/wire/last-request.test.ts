import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { bootGateway, openGateway } from '../helpers/gateway.ts'
import { isWholeResponse, rawClient } from '../helpers/raw-client.ts'
import { closesConnection, parseResponses } from '../helpers/raw-response.ts'
import { httpUpstream } from '../helpers/upstream.ts'
import { bareGet, eventually } from '../helpers/wire.ts'

test.each([
  ['a response', bareGet()],
  ['a rejection', bareGet('/none')],
])(
  'the last request that a connection may carry is announced with %s, and none behind it is served',
  async (_, last) => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url, listen: { maxRequestsPerConnection: 3 } })
    const client = await rawClient(port)

    client.send(bareGet() + bareGet() + last + bareGet('/leads/pipeline').repeat(3))
    const { received, how } = await client.ended()

    const { responses, rest } = parseResponses(received, ['GET', 'GET', 'GET'])
    expect(responses.map(closesConnection)).toEqual([false, false, true])
    expect([rest, how]).toEqual(['', 'end'])
    expect(upstream.requests.map(({ url }) => url)).not.toContain('/leads/pipeline')
  },
)

test('a request whose body breaks off is still the last one', async () => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url, listen: { maxRequestsPerConnection: 1 } })
  const client = await rawClient(port)

  client.send('POST /inventory/sync HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nnonsense\r\n')
  const { received } = await client.ended()

  expect(isWholeResponse(received)).toBe(true)
  expect(received).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\nConnection: close\r\n/)
})

test('a last response arrives whole, though its client sends more once the system has all of it', async () => {
  const upstream = await httpUpstream((_request, response) => void response.end(Buffer.alloc(3_000_000)))
  const { port, lines } = await bootGateway({ upstream: upstream.url, listen: { maxRequestsPerConnection: 1 } })
  const socket = connect({ port, host: '127.0.0.1' }).pause()
  let received = 0

  socket.write(bareGet())
  await eventually(() => {
    received += socket.read()?.length ?? 0
    return lines.some(({ msg }) => msg === 'exchange')
  })
  socket.write(bareGet())
  for await (const chunk of socket) received += chunk.length

  expect(received).toBeGreaterThan(3_000_000)
})

test('a request that ends while the gateway stops is no longer waited for, though its response went out before', async () => {
  const { port, gateway } = await openGateway({ shutdown: { wait: '0s', deadline: '10m' } })
  const client = await rawClient(port)
  client.send('POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n123')
  await client.until(isWholeResponse)

  const closed = gateway.close()
  await expect.poll(() => isRefused(port)).toBe(true)
  client.send('4567890')

  expect((await client.ended()).how).toBe('end')
  await closed
})

test('while the gateway stops, the next request of a client that pipelines is its last', async () => {
  const held: (() => void)[] = []
  const upstream = await httpUpstream((_request, response) => void held.push(() => response.end()))
  const { port, gateway } = await openGateway({ upstream: upstream.url, shutdown: { wait: '0s', deadline: '10m' } })
  const client = await rawClient(port)
  client.send(bareGet())
  await expect.poll(() => held.length).toBe(1)

  const closed = gateway.close()
  await expect.poll(() => isRefused(port)).toBe(true)
  client.send(bareGet() + bareGet('/leads/pipeline'))
  await expect.poll(() => held.length).toBe(2)
  for (const respond of held) respond()
  const { received, how } = await client.ended()
  await closed

  const { responses, rest } = parseResponses(received, ['GET', 'GET'])
  expect(responses.map(closesConnection)).toEqual([false, true])
  expect([rest, how]).toEqual(['', 'end'])
  expect(upstream.requests.map(({ url }) => url)).not.toContain('/leads/pipeline')
})

const isRefused = async (port: number): Promise<boolean> => {
  const client = await rawClient(port).catch(() => null)
  client?.close()
  return client === null
}
