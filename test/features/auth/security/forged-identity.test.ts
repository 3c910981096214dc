import { expect, test } from 'vitest'
import { bootApiKeyGateway, key } from '../../../helpers/api-key-gateway.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'
import { receivedValues, roundTrip } from '../../../helpers/round-trip.ts'

// The attack: a client states its identity in the field that upstreams believe: in each spelling that a back end may
// read as that field, several times, through an operation without auth, and named in Connection so that a hop drops the
// gateway's field.
test('a client gives the upstream no identity, in whatever spelling', async () => {
  const { gateway, upstream } = await bootApiKeyGateway('all', { operations: { 'leads.pipeline': { auth: 'none' } } })
  const statusOf = async (path: string, lines: readonly string[]): Promise<number> =>
    parseStatus(await exchangeRaw(gateway.port, [`GET ${path} HTTP/1.1`, 'Host: a', ...lines, '\r\n'].join('\r\n')))

  for (const forged of [
    ['X-Client-Id: bank-z'],
    ['x-client-id: bank-z', 'X-CLIENT-ID: bank-z'],
    ['X_Client_Id: bank-z'],
    ['x-client_id: bank-z'],
    ['X-Client-Id: bank-z', 'Connection: close, X-Client-Id'],
    ['Connection: close, x-client-id'],
  ]) {
    const before = upstream.requests.length
    const statuses = [
      await statusOf('/market/insights', [...forged, `X-Api-Key: ${key}`]),
      await statusOf('/leads/pipeline', forged),
    ]

    const identities = upstream.requests
      .slice(before)
      .map(({ rawHeaders }) =>
        rawHeaders.filter((_, at) => at % 2 === 1 && /^x[-_]client[-_]id$/i.test(rawHeaders[at - 1] ?? '')),
      )
    expect([forged, statuses, identities]).toEqual([forged, [200, 200], [['bank-a'], []]])
  }
})

// The attack: beside its own key, a client sends another client's under a name that a CGI-like back end reads as the
// same field. The gateway would forward it unchecked, in place of the key it strips or before the key it forwards.
test.each([
  ['strip', []],
  ['forward', [key]],
])('where credentials are to %s, nothing that looks like one goes on unchecked', async (credentials, passed) => {
  const { gateway, upstream } = await bootApiKeyGateway('all', { auth: { methods: ['apiKey'], credentials } })
  const twins = ['X_Api_Key', 'x-api_key', 'X_API-KEY'].map((name) => `${name}: forged`)
  const lines = ['GET /market/insights HTTP/1.1', 'Host: a', ...twins, `X-Api-Key: ${key}`, 'X-Other_Key: kept', '\r\n']

  const { response, arrived } = await roundTrip(gateway.port, upstream, lines.join('\r\n'))

  expect(response.status).toBe(200)
  expect(receivedValues(arrived[0], 'x-api-key')).toEqual(passed)
  expect(JSON.stringify(arrived[0]?.rawHeaders)).not.toContain('forged')
  expect(receivedValues(arrived[0], 'x-other_key')).toEqual(['kept'])
})
