/** The responses of a candidate beside those of its primary, on real connections: what is told, and what never is. */
import { expect, test } from 'vitest'
import type { getShadowReport } from '../../../../src/features/candidate/status/candidate-status.ts'
import type { ComparisonView } from '../../../../src/features/candidate/status/describe-comparison.ts'
import { readExposition, total } from '../../../core/admin/metrics/parse-exposition.ts'
import { withCandidate } from '../../../helpers/candidate.ts'
import type { Settings } from '../../../helpers/gateway.ts'
import { respondJson } from '../../../helpers/json-responder.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream, type Responder } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'

const json = (document: unknown, ...fields: readonly string[]) => respondJson(JSON.stringify(document), { fields })

/** Boots a gateway that compares all requests of `market`. */
const bootComparing = async (primaryResponse: Responder, candidateResponse: Responder, compare: object = {}) => {
  const [primary, candidate] = [await httpUpstream(primaryResponse), await httpUpstream(candidateResponse)]
  const settings = (shadow: object = {}, more: object = {}): Settings =>
    withCandidate(primary.url, candidate.url, { shadow: { sample: '100%', compare, ...shadow }, ...more })
  const live = await bootLiveGateway(settings())
  const get = (fields: readonly string[] = []) => call(live.gateway.address.port, { fields })
  const reload = async (next: Settings): Promise<void> => {
    live.edit(next)
    expect((await fetchAdmin(`${live.admin}/reload`, 'POST')).status).toBe(200)
  }
  return { live, primary, candidate, settings, get, reload }
}

const comparisonOf = async ({ admin }: LiveGateway): Promise<ComparisonView> => {
  const { body } = await fetchAdmin(`${admin}/shadow`)
  const [first] = (body as unknown as Awaited<ReturnType<typeof getShadowReport>>).comparisons
  if (first === undefined) throw new Error('nothing is compared')
  return first
}

const compared = async (live: LiveGateway, pairs: number): Promise<ComparisonView> => {
  await expect.poll(async () => (await comparisonOf(live)).compared).toBe(pairs)
  return comparisonOf(live)
}

test('a difference is reported with its place and request id, without values, and ignored places are not', async () => {
  const of = (grade: string, at: number, rate: number, ids: readonly number[]) =>
    json(
      { grade, meta: { at }, rate, items: ids.map((id) => ({ id, name: `n${id}`, at })) },
      ...['X-Model', `${at}`, 'Location', `/${at}`],
    )
  const rules = { ignore: ['/meta/at', '/items/*/at'], numbers: '1%', arrays: { '/items': 'id' }, fields: ['X-Model'] }
  const { live, get } = await bootComparing(
    of('AA-secret', 1, 100, [1, 2, 3]),
    of('BB-secret', 2, 100.9, [3, 1, 2]),
    rules,
  )

  await get()
  await get(['X-Request-Id', 'r-17'])
  const comparison = await compared(live, 2)

  expect(comparison.verdict).toMatch(/^2 compared, none equal; /)
  expect(comparison.rows).toMatchObject([
    { operation: 'market.insights', kind: 'field', pointer: 'x-model', count: 2 },
    { operation: 'market.insights', kind: 'value', pointer: '/grade', count: 2, recent: 2, requestId: 'r-17' },
  ])
  expect(comparison.rows[1]?.pairs).toMatchObject([{ count: 2, primary: null, candidate: null }])
  expect(JSON.stringify(comparison)).not.toContain('secret')
  const metrics = await (await fetch(`${live.admin}/metrics`)).text()
  const count = (name: string, labels: Readonly<Record<string, string>>) =>
    total(metrics, `lender_gateway_shadow_${name}`, { operation: 'market.insights', ...labels })
  expect(['different', 'equal'].map((result) => count('compared_total', { result }))).toEqual([2, 0])
  expect(['value', 'field', 'type'].map((kind) => count('differences_total', { kind }))).toEqual([2, 2, 0])
  expect(count('uncompared_total', { reason: 'primary-failed' })).toBe(0)
})

test('a reload with the same sides and rules keeps the counts, and any other restarts them', async () => {
  const { live, settings, get, reload } = await bootComparing(json({ grade: 'A' }), json({ grade: 'B' }))
  await get()
  const before = await compared(live, 1)

  await reload(settings({ sample: '50%' }, { share: '0.01%' }))
  const kept = await comparisonOf(live)
  await reload(settings({ maxBody: '64KiB' }))
  const withOtherBodies = await comparisonOf(live)
  await get()
  await compared(live, 1)
  await reload(settings({ maxBody: '64KiB', compare: { examples: true } }))
  const withExamples = await comparisonOf(live)
  await get()

  expect([kept.compared, kept.since]).toEqual([1, before.since])
  expect([withOtherBodies.compared, withExamples.compared]).toEqual([0, 0])
  // The file asks for examples.
  expect((await compared(live, 1)).verdict).toBe('1 compared, none equal; /grade differs in 1 (A→B 1)')
})

test('a compared operation has all its series from the start, and others have none', async () => {
  const upstream = (shadow: object) => ({
    endpoints: ['http://127.0.0.1:1'],
    candidate: { endpoints: ['http://127.0.0.1:2'], shadow },
  })
  const [market, leads] = [upstream({}), upstream({ compare: 'none' })]
  const [valuation, risk] = [upstream({ posts: true, sideEffects: 'none' }), upstream({ sideEffects: 'none' })]
  const { admin } = await bootLiveGateway({ upstreams: { market, leads, valuation, risk } })

  const exposition = readExposition(await (await fetch(`${admin}/metrics`)).text())
  const operationsOf = (name: string) =>
    new Set(exposition.get(`lender_gateway_shadow_${name}`)?.lines.map(({ labels }) => labels.operation))

  const expected = new Set(['market.insights', 'valuation.score', 'valuation.forecast'])
  for (const name of ['compared_total', 'differences_total', 'uncompared_total'])
    expect(operationsOf(name)).toEqual(expected)
})
