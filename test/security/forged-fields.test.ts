/** Fields by which a client removes, adds to or overrides what the gateway or the operator has written. */
import { describe, expect, test } from 'vitest'
import { bootGateway, gatewayForAll, type Settings } from '../helpers/gateway.ts'
import { receivedNames, receivedValues, roundTrip } from '../helpers/round-trip.ts'
import { httpUpstream, type TestUpstream } from '../helpers/upstream.ts'

const request = (fields: string, path = '/market/insights'): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`

/** Boots a gateway that sets fields for one group, and removes some from another. */
const boot = async (
  requestId: Settings['requestId'] = {},
): Promise<{ readonly port: number; readonly upstream: TestUpstream }> => {
  const upstream = await httpUpstream()
  const endpoints = [upstream.url]
  const { port } = await bootGateway({
    upstream: upstream.url,
    upstreams: {
      market: { endpoints, request: { set: { 'X-Api-Key': 'guard' } } },
      leads: { endpoints, request: { remove: ['X-Internal-User'] } },
    },
    requestId,
  })
  return { port, upstream }
}

// The attack: `Connection: X-Forwarded-For` makes a careless proxy drop what it has just set itself, or what guards the
// upstream.
describe('a client that names fields in Connection', () => {
  const site = gatewayForAll()
  const send = (bytes: string) => roundTrip(site.port, site.upstream, bytes)

  test.each(['X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host', 'X-Request-Id', 'Via', 'Host'])(
    'does not remove the gateway’s own %s',
    async (name) => {
      for (const connection of [name, name.toLowerCase(), `close, ${name}`, `${name}\r\nConnection: ${name}`]) {
        const { arrived } = await send(request(`Connection: ${connection}\r\n`))

        expect(receivedValues(arrived[0], name.toLowerCase())).toHaveLength(1)
      }
    },
  )

  test('does not remove what the operator sets', async () => {
    const { port, upstream } = await boot()

    const { arrived } = await roundTrip(port, upstream, request('X-Api-Key: mine\r\nConnection: x-api-key\r\n'))

    expect(receivedValues(arrived[0], 'x-api-key')).toEqual(['guard'])
  })

  test.each([
    ['content-length', 'Content-Length: 5\r\n\r\nhello'],
    ['transfer-encoding', 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n'],
  ])('does not change where its body ends, by %s', async (name, rest) => {
    const { arrived } = await send(`POST /inventory/sync HTTP/1.1\r\nHost: a\r\nConnection: ${name}\r\n${rest}`)

    expect(arrived.map(({ body }) => String(body))).toEqual(['hello'])
  })

  test('removes its own fields, and Connection with them', async () => {
    const { arrived } = await send(request('X-Hop: 1\r\nConnection: x-HOP, X-Other\r\nx-hop: 2\r\nX-Kept: 3\r\n'))

    expect(receivedNames(arrived[0])).toContain('x-kept')
    expect(receivedNames(arrived[0])).not.toContain('x-hop')
    expect(receivedValues(arrived[0], 'connection').join()).not.toMatch(/hop/i)
  })

  test('hides its own fields only: those of the next request on the connection arrive', async () => {
    const { arrived } = await send(
      request('Connection: keep-alive, x-a\r\nX-A: 1\r\n') + request('X-A: 2\r\nConnection: close\r\n'),
    )

    expect(arrived.flatMap((each) => receivedValues(each, 'x-a'))).toEqual(['2'])
  })
})

// The attack: a CGI-like back end reads X_Api_Key and X-Api-Key as one variable. What the operator sets, a client then
// adds to or overrides; what the operator removes, a client sends under the other name.
describe('a twin of a field that is configured', () => {
  test('does not arrive beside the field that is set; a field with underscores of which nothing is configured does', async () => {
    const { port, upstream } = await boot()
    const twins = ['X_Api_Key', 'x_api_key', 'X_Api-Key', 'X-API_KEY'].map((name) => `${name}: forged\r\n`)

    const { arrived } = await roundTrip(port, upstream, request(`${twins.join('')}X-Other_Key: kept\r\nX_Trace: 1\r\n`))

    expect(receivedValues(arrived[0], 'x-api-key')).toEqual(['guard'])
    expect(JSON.stringify(arrived[0]?.rawHeaders)).not.toContain('forged')
    expect(receivedValues(arrived[0], 'x-other_key')).toEqual(['kept'])
    expect(receivedValues(arrived[0], 'x_trace')).toEqual(['1'])
  })

  test('stops where the field is removed', async () => {
    const { port, upstream } = await boot()
    const fields = 'X_Internal_User: root\r\nx-internal_user: root\r\n'

    const { arrived } = await roundTrip(port, upstream, request(fields, '/leads/pipeline'))

    expect(arrived).toHaveLength(1)
    expect(receivedNames(arrived[0]).filter((name) => name.includes('internal'))).toEqual([])
  })

  test.each([
    ['X-Request-Id', ['X_Request_Id', 'x-request_id']],
    ['X_Correlation', ['X-Correlation']],
  ])('does not arrive beside %s, which carries the id of the request: %j', async (header, twins) => {
    const { port, upstream } = await boot({ header })
    const forged = twins.map((twin) => `${twin}: forged\r\n`).join('')

    const { arrived } = await roundTrip(port, upstream, request(`${header}: own\r\n${forged}`))

    expect(receivedValues(arrived[0], header.toLowerCase())).toEqual(['own'])
    expect(JSON.stringify(arrived[0]?.rawHeaders)).not.toContain('forged')
  })
})
