import { expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { closesConnection, parseResponses } from '../helpers/raw-response.ts'
import { httpUpstream } from '../helpers/upstream.ts'
import { eventually } from '../helpers/wire.ts'

// The attack: requests are short, and may be sent without waiting for responses. A connection is one of ten thousand,
// but a hundred thousand requests on it, behind one that takes its time, cost six hundred megabytes and a second.
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

test('of a flood of requests on one connection few are forwarded, and their responses come in order, the last of them said to be', async () => {
  const held: (() => void)[] = []
  const upstream = await httpUpstream(({ url }, response) => held.push(() => response.end(url)))
  const { port, lines } = await bootGateway({ upstream: upstream.url, defaults: { maxConnections: 1000 } })
  const client = await rawClient(port)
  const paths = Array.from({ length: 20_000 }, (_, i) => `/market/insights?${i}`)

  await new Promise<void>((resolve) => client.socket.write(paths.map(get).join(''), () => resolve()))
  await eventually(() => held.length === 100)
  for (const answer of held.toReversed()) answer()
  const { received, how } = await client.ended()

  const { responses, rest } = parseResponses(received, Array(100).fill('GET') as string[])
  expect(responses.map(({ body }) => body)).toEqual(paths.slice(0, 100))
  expect(responses.map(closesConnection)).toEqual([...Array(99).fill(false), true])
  expect([rest, how]).toEqual(['', 'end'])
  expect(upstream.begun()).toBe(100)
  await eventually(() => lines.length >= 100)
  expect(lines).toHaveLength(100)
})

test('a flood behind the last response of a connection costs that response nothing', async () => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url })
  const client = await rawClient(port)
  const rejectedRequest = 'POST /none HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'

  client.send(get('/market/insights') + rejectedRequest.slice(0, -5))
  await eventually(() => upstream.begun() === 1)
  client.send(rejectedRequest.slice(-5) + get('/leads/pipeline').repeat(5000))
  const { received } = await client.ended()

  const { responses, rest } = parseResponses(received, ['GET', 'POST'])
  expect(responses.map(({ status }) => status)).toEqual([200, 404])
  expect(rest).toBe('')
  expect(upstream.begun()).toBe(1)
})

test('as many as a client may have a use for are answered in order', async () => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url })
  const client = await rawClient(port)
  const paths = Array.from({ length: 99 }, (_, i) => (i % 2 === 0 ? '/market/insights' : `/none/${i}`))

  client.send(paths.map(get).join('') + get('/leads/pipeline').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
  const { received } = await client.ended()

  const { responses, rest } = parseResponses(received, Array(100).fill('GET') as string[])
  expect(responses.map(({ status }) => status)).toEqual([...paths.map((_, i) => (i % 2 === 0 ? 200 : 404)), 200])
  expect(rest).toBe('')
})
