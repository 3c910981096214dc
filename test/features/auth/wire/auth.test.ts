import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { liveGatewayForAll } from '../../../helpers/live-gateway.ts'

const keyOf = (letter: string): string => `${letter}.${letter.repeat(43)}`
const clientOf = (id: string, letter: string, more: object) => ({
  ...{ id, apiKeys: [{ id: letter, sha256: hash('sha256', letter.repeat(43)) }], operations: 'all' },
  ...more,
})

const site = liveGatewayForAll({
  auth: { methods: ['apiKey'], identityField: 'X-Client-Id' },
  clients: [
    clientOf('bank-a', 'a', { operations: ['market.insights', 'leads.pipeline'] }),
    clientOf('bank-b', 'b', { disabled: true }),
    clientOf('bank-c', 'c', { addresses: ['192.0.2.0/24'] }),
  ],
  operations: { 'analysis.esg-grant': { auth: 'none' } },
})

const fetchWithKey = (path: string, key?: string): Promise<Response> =>
  fetch(`${site.live.url}${path}`, { headers: key === undefined ? {} : { 'X-Api-Key': key } })

test('a client with a key may call what it is entitled to, and the upstream learns its id, and not its key', async () => {
  const response = await fetchWithKey('/market/insights', keyOf('a'))

  const fields = site.received()[0]?.rawHeaders ?? []
  expect(response.status).toBe(200)
  expect(fields[fields.indexOf('X-Client-Id') + 1]).toBe('bank-a')
  expect(fields.join()).not.toContain(keyOf('a'))
  const line = await site.live.line(({ operation }) => operation === 'market.insights')
  expect(line).toMatchObject({ clientId: 'bank-a', auth: 'apiKey' })
})

test('an operation that asks for no authentication needs no key', async () => {
  expect((await fetchWithKey('/analysis/esg-grant')).status).toBe(200)
})

test.each([
  [
    'asks for another operation',
    '/compliance/audit-trail',
    'a',
    'the client may not call this operation',
    'wrong-operation',
  ],
  [
    'names its own behind it',
    '/compliance/audit-trail?/market/insights',
    'a',
    'the client may not call this operation',
    'wrong-operation',
  ],
  ['is disabled', '/market/insights', 'b', 'the client is disabled', 'client-disabled'],
  ['comes from elsewhere', '/market/insights', 'c', 'the client may not call from this address', 'wrong-address'],
])('a client that %s gets 403 and no reason, which stands in the log', async (_, path, letter, cause, reason) => {
  const response = await fetchWithKey(path, keyOf(letter))

  expect(response.status).toBe(403)
  expect(await response.json()).toMatchObject({ code: 'forbidden', title: 'Forbidden' })
  expect(await site.live.line((line) => line.cause === cause)).toMatchObject({ failure: 'forbidden', reason })
})

test.each([
  ['nothing', undefined],
  ['a wrong key', `a.${'b'.repeat(43)}`],
])('a client with %s gets a challenge', async (_, key) => {
  const response = await fetchWithKey('/market/insights', key)

  expect(response.status).toBe(401)
  expect(response.headers.get('WWW-Authenticate')).toBe('ApiKey realm="lender-gateway", field="X-Api-Key"')
  expect(await response.json()).toMatchObject({ code: 'unauthenticated' })
})
