import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openGateway, type TestGateway } from '../../../helpers/gateway.ts'
import { openHttpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'

const secret = (letter: string): string => letter.repeat(43)
const keyOf = (id: string, letter: string) => ({ id, sha256: hash('sha256', secret(letter)) })
const clients = [
  { id: 'bank-a', apiKeys: [keyOf('a', 'a')], operations: ['market.insights', 'leads.pipeline'] },
  { id: 'bank-b', apiKeys: [keyOf('b', 'b')], operations: 'all', disabled: true },
  { id: 'bank-c', apiKeys: [keyOf('c', 'c')], operations: 'all', addresses: ['192.0.2.0/24'] },
]

let upstream: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  upstream = await openHttpUpstream((request, response) => response.end(JSON.stringify(request.rawHeaders)))
  gateway = await openGateway({
    upstream: upstream.url,
    auth: { methods: ['apiKey'], identityField: 'X-Client-Id' },
    clients,
    operations: { 'analysis.esg-grant': { auth: 'none' } },
  })
})

afterAll(async () => {
  await gateway.gateway.close()
  await upstream.close()
})

const ask = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${gateway.url}${path}`, { headers })

const received = async (response: Response): Promise<readonly string[]> => (await response.json()) as string[]

describe('a client with a key', () => {
  const shown = { 'X-Api-Key': `a.${secret('a')}` }

  test('may call what it is entitled to, and the upstream learns its id, and not its key', async () => {
    const response = await ask('/market/insights', shown)
    const fields = await received(response)

    expect(response.status).toBe(200)
    expect(fields[fields.indexOf('X-Client-Id') + 1]).toBe('bank-a')
    expect(fields.join()).not.toContain(secret('a'))
    expect(await gateway.line(({ operation }) => operation === 'market.insights')).toMatchObject({
      clientId: 'bank-a',
      auth: 'apiKey',
    })
  })

  test('may not call other operations, and gets no reason', async () => {
    const response = await ask('/analysis/esg-grant', {})
    const rejected = await fetch(`${gateway.url}/inventory/sync`, { method: 'POST', headers: shown })

    expect(response.status).toBe(200)
    expect(rejected.status).toBe(403)
    expect(await rejected.json()).toMatchObject({ code: 'forbidden', title: 'Forbidden' })
    expect(await gateway.line(({ operation }) => operation === 'inventory.sync')).toMatchObject({
      clientId: 'bank-a',
      failure: 'forbidden',
      reason: 'wrong-operation',
      cause: 'not this operation',
    })
  })

  test.each([
    ['that is disabled', 'b', 'the client is disabled', 'client-disabled'],
    ['that comes from elsewhere', 'c', 'not from this address', 'wrong-address'],
  ])('%s may call nothing', async (_, letter, cause, reason) => {
    const response = await ask('/market/insights', { 'X-Api-Key': `${letter}.${secret(letter)}` })

    expect(response.status).toBe(403)
    expect(await gateway.line((line) => line.cause === cause)).toMatchObject({ failure: 'forbidden', reason })
  })
})

test.each([
  ['nothing', {}],
  ['a wrong key', { 'X-Api-Key': `a.${secret('b')}` }],
])('a client with %s gets a challenge', async (_, headers) => {
  const response = await ask('/market/insights', headers)

  expect(response.status).toBe(401)
  expect(response.headers.get('WWW-Authenticate')).toBe('ApiKey realm="lender-gateway", field="X-Api-Key"')
  expect(await response.json()).toMatchObject({ code: 'unauthenticated' })
})
