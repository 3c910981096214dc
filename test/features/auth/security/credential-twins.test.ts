import { expect, test } from 'vitest'
import { bootApiKeyGateway, key } from '../../../helpers/api-key-gateway.ts'
import { receivedValues, roundTrip } from '../../../helpers/round-trip.ts'

// The attack: beside a key of its own, which is checked here, a client sends another's under a name that a CGI-like
// back end reads as the same field. It would get past the gateway unchecked: in place of the key that is stripped, or
// before the one that is forwarded.
test.each([
  ['strip', []],
  ['forward', [key]],
] as const)(
  'where credentials are to %s, nothing that looks like one goes on unchecked',
  async (credentials, passed) => {
    const { gateway, upstream } = await bootApiKeyGateway('all', { auth: { methods: ['apiKey'], credentials } })
    const twins = ['X_Api_Key', 'x-api_key', 'X_API-KEY'].map((name) => `${name}: forged\r\n`)
    const lines = `Host: a\r\nConnection: close\r\n${twins.join('')}X-Api-Key: ${key}\r\nX-Other_Key: kept\r\n`

    const { response, arrived } = await roundTrip(
      gateway.port,
      upstream,
      `GET /market/insights HTTP/1.1\r\n${lines}\r\n`,
    )

    expect(response.status).toBe(200)
    expect(receivedValues(arrived[0], 'x-api-key')).toEqual(passed)
    expect(JSON.stringify(arrived[0]?.rawHeaders)).not.toContain('forged')
    expect(receivedValues(arrived[0], 'x-other_key')).toEqual(['kept'])
  },
)
