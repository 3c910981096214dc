import { expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { closesConnection, parseResponses } from '../helpers/raw-response.ts'
import { httpUpstream } from '../helpers/upstream.ts'
import { bareGet, eventually } from '../helpers/wire.ts'

// The attack: requests are short, and need not wait for responses. A hundred thousand requests on one connection,
// behind a slow one, cost six hundred megabytes and a second. And a hundred that are forwarded at once are nearly half
// of the places at an endpoint.
const pathsOf = (length: number): string[] => Array.from({ length }, (_, i) => `/market/insights?${i}`)

/** A client of a gateway whose upstream responds with the URL of a request on release, or at once. */
const openFloodClient = async (isHeld: boolean) => {
  const held: (() => void)[] = []
  const upstream = await httpUpstream(({ url }, response) => {
    if (isHeld) held.push(() => response.end(url))
    else response.end(url)
  })
  const { port } = await bootGateway({ upstream: upstream.url })
  return { upstream, held, client: await rawClient(port) }
}

test('of a flood of requests on one connection four are under way at once, and all get their responses in order', async () => {
  const { upstream, held, client } = await openFloodClient(true)
  const paths = pathsOf(400)
  let most = 0

  client.send(paths.map(bareGet).join(''))
  await eventually(() => held.length === 4)
  // The newest first, so that a response waits for those before it.
  while (upstream.begun() < paths.length) {
    await eventually(() => held.length > 0)
    most = Math.max(most, held.length)
    for (const respond of held.splice(0).toReversed()) respond()
  }
  for (const respond of held.splice(0)) respond()
  const received = await client.until((text) => text.endsWith(paths.at(-1) ?? ''))

  const { responses, rest } = parseResponses(received, new Array(paths.length).fill('GET'))
  expect(responses.map(({ body }) => body)).toEqual(paths)
  expect(responses.some(closesConnection)).toBe(false)
  expect([most, rest]).toEqual([4, ''])
})

test('a client that ends its side behind held-back requests gets all its responses', async () => {
  const { client } = await openFloodClient(false)
  const paths = pathsOf(20)

  client.socket.end(paths.map(bareGet).join(''))
  const { received, how } = await client.ended()

  const { responses } = parseResponses(received, new Array(paths.length).fill('GET'))
  expect(responses.map(({ body }) => body)).toEqual(paths)
  expect(how).toBe('end')
})

test('a flood behind the last response of a connection does not harm that response', async () => {
  const { upstream, client } = await openFloodClient(false)

  client.send(`${bareGet('/market/insights')}POST /none HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`)
  await eventually(() => upstream.begun() === 1)
  client.send(`0\r\n\r\n${bareGet('/leads/pipeline').repeat(5000)}`)
  const { received } = await client.ended()

  const { responses, rest } = parseResponses(received, ['GET', 'POST'])
  expect([responses.map(({ status }) => status), rest, upstream.begun()]).toEqual([[200, 404], '', 1])
})
