import { hash } from 'node:crypto'
import { parseList } from 'structured-headers'
import { expect, test } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const secret = 'a'.repeat(43)
const client = (id: string, more: object = {}) => ({
  id,
  apiKeys: [{ id, sha256: hash('sha256', secret) }],
  operations: ['market.insights'],
  ...more,
})
const auth = { methods: ['apiKey'] }
const rated = { rate: '1/min', burst: 2 }

const ask = (url: string, id: string, path = '/market/insights'): Promise<Response> =>
  fetch(url + path, { headers: { 'X-Api-Key': `${id}.${secret}` } })

test('a client is rejected beyond its rate with 429, and the fields name its limit beside that of the address', async () => {
  const upstream = await httpUpstream()
  const limits = { address: { rate: '100/s' } }
  const { url, line } = await bootGateway({
    upstream: upstream.url,
    auth,
    limits,
    clients: [client('a', rated), client('b')],
  })

  const responses = [await ask(url, 'a'), await ask(url, 'a'), await ask(url, 'a'), await ask(url, 'b')]

  expect(responses.map(({ status }) => status)).toEqual([200, 200, 429, 200])
  expect(upstream.requests).toHaveLength(3)
  const policies = responses.map(({ headers }) =>
    parseList(headers.get('ratelimit-policy') ?? '').map(([name]) => name),
  )
  expect(policies).toEqual([['address', 'client'], ['address', 'client'], ['address', 'client'], ['address']])
  expect(Number(responses[2]?.headers.get('retry-after'))).toBeGreaterThan(50)
  expect(await line(({ status }) => status === 429)).toMatchObject({ failure: 'rate-limited', clientId: 'a' })
})

test('what is rejected for want of a key or an entitlement is not counted', async () => {
  const { url } = await bootGateway({ auth, clients: [client('a', rated)] })

  for (let n = 0; n < 4; n++) {
    expect((await ask(url, 'a', '/leads/pipeline')).status).toBe(403)
    expect((await fetch(`${url}/market/insights`, { headers: { 'X-Api-Key': `a.${'b'.repeat(43)}` } })).status).toBe(
      401,
    )
  }

  expect([(await ask(url, 'a')).status, (await ask(url, 'a')).status, (await ask(url, 'a')).status]).toEqual([
    200, 200, 429,
  ])
})

test('a client has no more in flight than it may', async () => {
  const held = Promise.withResolvers<void>()
  const upstream = await httpUpstream(async (_, response) => {
    await held.promise
    response.end()
  })
  const { url } = await bootGateway({
    upstream: upstream.url,
    auth,
    clients: [client('a', { concurrency: 1 }), client('b')],
  })

  const first = ask(url, 'a')
  await expect.poll(() => upstream.requests.length).toBe(1)
  const [second, other] = [await ask(url, 'a'), ask(url, 'b')]
  held.resolve()

  expect([second.status, second.headers.get('retry-after')]).toEqual([429, '1'])
  expect([(await first).status, (await other).status, (await ask(url, 'a')).status]).toEqual([200, 200, 200])
})
