/** Fields by which a client removes, adds to or overrides what the gateway or the operator has written. */
import { describe, expect, test } from 'vitest'
import { liveGatewayForAll } from '../helpers/live-gateway.ts'
import { receivedNames, receivedValues, roundTrip } from '../helpers/round-trip.ts'

// It sets fields for one group, and removes some from another.
const settings = (requestId: Record<string, string>) => (url: string) => ({
  upstreams: {
    market: { endpoints: [url], request: { set: { 'X-Api-Key': 'secret' } } },
    leads: { endpoints: [url], request: { remove: ['X-Internal-User'] } },
  },
  requestId,
})
const site = liveGatewayForAll(settings({}))

const request = (fields: string, path = '/market/insights'): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n`
const send = (bytes: string, { port, server } = site) => roundTrip(port, server, bytes)

// The attack: `Connection: X-Forwarded-For` makes a careless proxy drop the field that it has just set, or one that
// protects the upstream. `fields.test.ts` shows that the named fields are dropped, and the gateway's own are not.
describe('a client that names fields in Connection', () => {
  test('a client that names fields in Connection does not remove those that the operator sets', async () => {
    const { arrived } = await send(request('X-Api-Key: mine\r\nConnection: x-api-key\r\n'))

    expect(receivedValues(arrived[0], 'x-api-key')).toEqual(['secret'])
  })

  test('a client that names fields in Connection hides only its own, not those of the next request', async () => {
    const { arrived } = await send(
      request('Connection: keep-alive, x-a\r\nX-A: 1\r\n') + request('X-A: 2\r\nConnection: close\r\n'),
    )

    expect(arrived.flatMap((each) => receivedValues(each, 'x-a'))).toEqual(['2'])
  })
})

// The attack: a CGI-like back end reads X_Api_Key and X-Api-Key as one variable. A client adds to the operator's field,
// or sends a removed field under the other name.
describe('a twin of a field that is configured', () => {
  test('a twin of a configured field does not arrive beside it; another field with underscores arrives', async () => {
    const twins = ['X_Api_Key', 'x_api_key', 'X_Api-Key', 'X-API_KEY'].map((name) => `${name}: forged\r\n`)

    const { arrived } = await send(request(`${twins.join('')}X-Other_Key: kept\r\nX_Trace: 1\r\n`))

    expect(receivedValues(arrived[0], 'x-api-key')).toEqual(['secret'])
    expect(JSON.stringify(arrived[0]?.rawHeaders)).not.toContain('forged')
    expect(receivedNames(arrived[0])).toEqual(expect.arrayContaining(['x-other_key', 'x_trace']))
  })

  test('a twin of a removed field does not arrive', async () => {
    const { arrived } = await send(request('X_Internal_User: root\r\nx-internal_user: root\r\n', '/leads/pipeline'))

    expect(arrived).toHaveLength(1)
    expect(receivedNames(arrived[0]).filter((name) => name.includes('internal'))).toEqual([])
  })

  const named = liveGatewayForAll(settings({ header: 'X_Correlation' }))

  test.each([
    ['X-Request-Id', () => site, ['X_Request_Id', 'x-request_id']],
    ['X_Correlation', () => named, ['X-Correlation']],
  ])('a twin does not arrive beside %s, which carries the request id', async (header, at, twins) => {
    const forged = twins.map((twin) => `${twin}: forged\r\n`).join('')

    const { arrived } = await send(request(`${header}: own\r\n${forged}`), at())

    expect(receivedValues(arrived[0], header.toLowerCase())).toEqual(['own'])
    expect(JSON.stringify(arrived[0]?.rawHeaders)).not.toContain('forged')
  })
})
