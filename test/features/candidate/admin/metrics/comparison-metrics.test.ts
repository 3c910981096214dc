import { expect, test } from 'vitest'
import { readExposition, total } from '../../../../core/admin/metrics/parse-exposition.ts'
import { bootLiveGateway } from '../../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../../helpers/upstream.ts'

const read = async (admin: string): Promise<string> => (await fetch(`${admin}/metrics`)).text()

const json = (body: string) =>
  httpUpstream((_, response) => response.writeHead(200, ['Content-Type', 'application/json']).end(body))

test('each pair is equal, different or not compared, and counts in each way in which it differs', async () => {
  const [primary, candidate] = [await json('{"grade":"A","n":1}'), await json('{"grade":"B"}')]
  const { url, admin } = await bootLiveGateway({
    upstreams: {
      market: {
        endpoints: [primary.url],
        candidate: { endpoints: [candidate.url], shadow: { sample: '100%' } },
      },
    },
  })

  for (let n = 0; n < 3; n++) await (await fetch(`${url}/market/insights`)).text()

  const count = async (name: string, labels: Readonly<Record<string, string>>) =>
    total(await read(admin), `lender_gateway_shadow_${name}`, { operation: 'market.insights', ...labels })
  await expect.poll(() => count('compared_total', { result: 'different' }), { timeout: 30_000 }).toBe(3)
  expect(await count('compared_total', { result: 'equal' })).toBe(0)
  expect(await count('differences_total', { kind: 'value' })).toBe(3)
  expect(await count('differences_total', { kind: 'missing' })).toBe(3)
  expect(await count('uncompared_total', { reason: 'primary-failed' })).toBe(0)
})

test('what is compared has all its series from the start, and nothing else has any', async () => {
  const candidate = (shadow: object) => ({
    endpoints: ['http://127.0.0.1:1'],
    candidate: { endpoints: ['http://127.0.0.1:2'], shadow },
  })
  const { admin } = await bootLiveGateway({
    upstreams: {
      market: candidate({}),
      leads: candidate({ compare: 'none' }),
      valuation: candidate({ posts: true, sideEffects: 'none' }),
      risk: candidate({ sideEffects: 'none' }),
    },
  })

  const exposition = readExposition(await read(admin))
  const operationsOf = (name: string) =>
    new Set(exposition.get(`lender_gateway_shadow_${name}`)?.lines.map(({ labels }) => labels.operation))

  const expected = new Set(['market.insights', 'valuation.score', 'valuation.forecast'])
  for (const name of ['compared_total', 'differences_total', 'uncompared_total'])
    expect(operationsOf(name)).toEqual(expected)
})
