import { expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { receivedNames, receivedValues, roundTrip } from '../helpers/round-trip.ts'
import { httpUpstream } from '../helpers/upstream.ts'

// The attack: a CGI-like back end reads X_Api_Key and X-Api-Key as one variable. What the operator sets, a client then
// adds to or overrides; what the operator removes, a client sends under the other name.
const get = (fields: string): string => `GET /market/insights HTTP/1.1\r\nHost: a\r\n${fields}\r\n`

const boot = async (request: unknown) => {
  const upstream = await httpUpstream()
  const market = { endpoints: [upstream.url], request }
  const { port } = await bootGateway({ upstream: upstream.url, upstreams: { market } })
  return { upstream, port }
}

test.each(['X_Api_Key', 'x_api_key', 'X_Api-Key', 'X-API_KEY'])(
  '%s does not arrive beside the X-Api-Key that is set',
  async (twin) => {
    const { upstream, port } = await boot({ set: { 'X-Api-Key': 'guard' } })

    const { arrived } = await roundTrip(port, upstream, get(`${twin}: forged\r\nX-Other_Key: kept\r\n`))

    expect(receivedValues(arrived[0], 'x-api-key')).toEqual(['guard'])
    expect(JSON.stringify(arrived[0]?.rawHeaders)).not.toContain('forged')
    expect(receivedValues(arrived[0], 'x-other_key')).toEqual(['kept'])
  },
)

test.each(['X_Internal_User', 'x-internal_user'])('%s stops where X-Internal-User is removed', async (twin) => {
  const { upstream, port } = await boot({ remove: ['X-Internal-User'] })

  const { arrived } = await roundTrip(port, upstream, get(`${twin}: root\r\n`))

  expect(arrived).toHaveLength(1)
  expect(receivedNames(arrived[0]).filter((name) => name.includes('internal'))).toEqual([])
})

test.each([
  ['X-Request-Id', 'X_Request_Id'],
  ['X-Request-Id', 'x-request_id'],
  ['X_Correlation', 'X-Correlation'],
])('of %s, which carries the id of the request, %s does not arrive', async (header, twin) => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url, requestId: { header } })

  const { arrived } = await roundTrip(port, upstream, get(`${header}: own\r\n${twin}: forged\r\n`))

  expect(receivedValues(arrived[0], header.toLowerCase())).toEqual(['own'])
  expect(JSON.stringify(arrived[0]?.rawHeaders)).not.toContain('forged')
})

test('a field with underscores arrives as it is where nothing is configured of it', async () => {
  const { upstream, port } = await boot({ set: { 'X-Api-Key': 'guard' } })

  const { arrived } = await roundTrip(port, upstream, get('X_Trace_Id: 1\r\n'))

  expect(receivedValues(arrived[0], 'x_trace_id')).toEqual(['1'])
})
