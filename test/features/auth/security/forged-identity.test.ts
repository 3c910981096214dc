import { request } from 'node:http'
import { expect, test } from 'vitest'
import { bootApiKeyGateway, key } from '../../../helpers/api-key-gateway.ts'

const isIdentity = (name: string): boolean => /^x[-_]client[-_]id$/i.test(name)

// The attack: a client states its own identity, in the field that upstreams believe, in each spelling that a back end
// may read as that field, several times, through an operation that asks for no credential, and named in Connection so
// that a hop drops the gateway's own.
test.each([
  [['X-Client-Id', 'bank-z']],
  [['x-client-id', 'bank-z', 'X-CLIENT-ID', 'bank-z']],
  [['X_Client_Id', 'bank-z']],
  [['x-client_id', 'bank-z']],
  [['X-Client-Id', 'bank-z', 'Connection', 'X-Client-Id']],
  [['Connection', 'x-client-id']],
])('%j gives the upstream no identity', async (forged) => {
  const { gateway, upstream } = await bootApiKeyGateway('all', { operations: { 'leads.pipeline': { auth: 'none' } } })
  const fields = forged.flatMap((each, at): [string, string][] => (at % 2 === 0 ? [[each, forged[at + 1] ?? '']] : []))
  const ask = (path: string, more: readonly [string, string][]): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = [...fields, ...more].flat()
      request({ port: gateway.port, path, headers, agent: false, setHost: false }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0))
      })
        .on('error', reject)
        .end()
    })

  expect(
    await ask('/market/insights', [
      ['Host', 'gateway'],
      ['X-Api-Key', key],
    ]),
  ).toBe(200)
  expect(await ask('/leads/pipeline', [['Host', 'gateway']])).toBe(200)

  const identities = upstream.requests.map(({ rawHeaders }) =>
    rawHeaders.flatMap((each, at) => (at % 2 === 0 && isIdentity(each) ? [rawHeaders[at + 1]] : [])),
  )
  expect(identities).toEqual([['bank-a'], []])
})
