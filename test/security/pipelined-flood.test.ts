import { expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { closesConnection, parseResponses } from '../helpers/raw-response.ts'
import { httpUpstream } from '../helpers/upstream.ts'
import { eventually } from '../helpers/wire.ts'

// The attack: requests are short, and may be sent without waiting for responses. A connection is one of ten thousand,
// but a hundred thousand requests on it, behind one that takes its time, cost six hundred megabytes and a second. And a
// hundred that are forwarded at once are nearly half of the places at an endpoint.
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

test('of a flood of requests on one connection four are under way at once, and all get their responses in order', async () => {
  const held: (() => void)[] = []
  const upstream = await httpUpstream(({ url }, response) => held.push(() => response.end(url)))
  const { port } = await bootGateway({ upstream: upstream.url })
  const client = await rawClient(port)
  const paths = Array.from({ length: 400 }, (_, i) => `/market/insights?${i}`)
  let most = 0

  client.send(paths.map(get).join(''))
  await eventually(() => held.length === 4)
  // The newest first, so that a response waits for those before it.
  while (upstream.begun() < paths.length) {
    await eventually(() => held.length > 0)
    most = Math.max(most, held.length)
    for (const answer of held.splice(0).toReversed()) answer()
  }
  for (const answer of held.splice(0)) answer()
  const received = await client.until((text) => text.endsWith(paths.at(-1) ?? ''))

  const { responses, rest } = parseResponses(received, Array(paths.length).fill('GET') as string[])
  expect(responses.map(({ body }) => body)).toEqual(paths)
  expect(responses.some(closesConnection)).toBe(false)
  expect([most, rest]).toEqual([4, ''])
})

test('a body of the last that may be under way is read, and what follows it is held back', async () => {
  const held: (() => void)[] = []
  const upstream = await httpUpstream(({ body }, response) => held.push(() => response.end(`${body.length}`)))
  const { port } = await bootGateway({ upstream: upstream.url })
  const client = await rawClient(port)
  const body = 'x'.repeat(200_000)
  const post = `POST /risk/asset-valuation HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`

  client.send(get('/market/insights').repeat(3) + post + get('/market/insights').repeat(2))
  await eventually(() => held.length === 4)
  const begun = upstream.begun()
  for (const answer of held.splice(0)) answer()
  await eventually(() => held.length === 2)
  for (const answer of held.splice(0)) answer()
  const received = await client.until((text) => text.split('HTTP/1.1 200').length === 7 && text.endsWith('0'))

  expect(begun).toBe(4)
  const { responses } = parseResponses(received, ['GET', 'GET', 'GET', 'POST', 'GET', 'GET'])
  expect(responses.map((each) => each.body)).toEqual(['0', '0', '0', '200000', '0', '0'])
})

test('a client that has ended its side behind requests that are held back gets all its responses', async () => {
  const upstream = await httpUpstream(({ url }, response) => response.end(url))
  const { port } = await bootGateway({ upstream: upstream.url })
  const client = await rawClient(port)
  const paths = Array.from({ length: 20 }, (_, i) => `/market/insights?${i}`)

  client.socket.end(paths.map(get).join(''))
  const { received, how } = await client.ended()

  const { responses } = parseResponses(received, Array(paths.length).fill('GET') as string[])
  expect(responses.map(({ body }) => body)).toEqual(paths)
  expect(how).toBe('end')
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
