import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { metricFamilies } from '../../../../src/core/admin/server.ts'
import { reasonTable } from '../../../../src/core/exchange/failures/errors.ts'
import { failureTable } from '../../../../src/core/exchange/failures/failure-table.ts'
import { allOperations } from '../../../../src/operations.ts'
import { readExposition, seriesOf, total } from '../../../core/admin/metrics/parse-exposition.ts'
import { lint } from '../../../core/admin/metrics/promtool.ts'
import { bootLiveGateway, fetchAdmin, shareLiveGateway } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { audience, issuer, jwks, signingKey } from '../../../helpers/tokens.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

/** What Prometheus reads at /metrics. */

const promtool = await needProgram('promtool')

const secret = 'A'.repeat(43)
const key = `key.${secret}`

const from = Date.now() / 1000
const idle = await shareLiveGateway()

const metrics = async (admin: string): Promise<string> => {
  const response = await fetch(`${admin}/metrics`)
  expect(response.status).toBe(200)
  expect(response.headers.get('Content-Type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  return response.text()
}

test('a candidate has series of its own, and without one there are none', async () => {
  const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
  const { url, admin } = await bootLiveGateway({
    upstreams: { market: { endpoints: [primary.url], circuitBreaker: {}, candidate: candidate.url } },
  })

  await fetch(`${url}/market/insights`)

  await expect
    .poll(async () => total(await metrics(admin), 'lender_gateway_endpoint_requests_total', { group: 'market' }))
    .toBe(1)
  const text = await metrics(admin)
  const of = (name: string, labels: Readonly<Record<string, string>>) => total(text, `lender_gateway_${name}`, labels)
  const series = [...seriesOf(text).keys()]
  const side = { group: 'market', side: 'candidate', endpoint: candidate.url }
  expect([
    of('endpoint_requests_total', { side: 'primary', endpoint: primary.url }),
    of('endpoint_requests_total', side),
    of('endpoint_state', { state: 'up', ...side }),
    of('upstream_breaker_state', { side: 'candidate', state: 'closed' }),
    of('candidate_share', { group: 'market' }),
    of('candidate_taken_back', { group: 'market' }),
  ]).toEqual([1, 0, 1, 1, 0, 0])
  expect(series.filter((each) => /group="risk".*side="candidate"/.test(each))).toEqual([])
  expect(series.filter((each) => /upstream_failures.*"market".*"candidate"/.test(each))).not.toEqual([])
})

test.skipIf(promtool.missing)('promtool has nothing to say of it', async () => {
  const { url: upstream } = await httpUpstream()
  const { url, admin } = await bootLiveGateway({
    ...{ upstream, defaults: { retry: {}, circuitBreaker: {} }, metrics: { clients: true } },
    auth: { methods: ['apiKey'] },
    clients: [{ id: 'bank-a', operations: 'all', apiKeys: [{ id: 'one', sha256: 'a'.repeat(64) }] }],
    limits: { address: { rate: '1000/s' } },
    operations: { 'market.insights': { auth: 'none', cache: {} } },
  })
  await fetch(`${url}/market/insights`)
  await fetch(`${url}/leads/pipeline`)

  const text = await metrics(admin)

  expect(await lint(promtool.path ?? '', text)).toBe('')
  expect(await lint(promtool.path ?? '', text.replaceAll('_total', '_totals'))).not.toBe('')
})

test('what is shown is what the list says, and each of it once', async () => {
  const read = readExposition(await metrics(idle.admin))

  const listed = new Map(metricFamilies.map((family) => [family.name, family]))
  expect(listed.size).toBe(metricFamilies.length)
  for (const [name, { type, help, lines }] of read) {
    expect([type, help]).toEqual([listed.get(name)?.type, listed.get(name)?.help])
    for (const { labels } of lines)
      expect(Object.keys(labels).filter((label) => label !== 'le')).toEqual(listed.get(name)?.labels)
  }
})

test('every failure of every operation has a series before it happens', async () => {
  const text = await metrics(idle.admin)

  for (const operation of [...allOperations.map(({ id }) => id), 'none'])
    for (const failure of Object.keys(failureTable))
      expect(total(text, 'lender_gateway_requests_total', { operation, failure })).toBe(0)
})

test('every request is counted once, by what became of it', async () => {
  const { url: upstream } = await httpUpstream()
  const { url, admin } = await bootLiveGateway({ upstream, upstreams: { leads: 'http://127.0.0.1:1' } })
  const before = await metrics(admin)

  await fetch(`${url}/market/insights`)
  await fetch(`${url}/market/insights`)
  await fetch(`${url}/leads/pipeline`)
  await fetch(`${url}/nothing`)
  await fetch(`${url}/valuation/score`, { method: 'POST', body: '12345' })

  await expect.poll(async () => total(await metrics(admin), 'lender_gateway_requests_total')).toBe(5)
  const text = await metrics(admin)
  const of = (name: string, labels: Readonly<Record<string, string>>) => total(text, `lender_gateway_${name}`, labels)
  const market = { operation: 'market.insights' }
  expect([
    of('requests_total', { ...market, status_class: '2xx', failure: 'none' }),
    of('request_duration_seconds_count', market),
    of('request_duration_seconds_bucket', { ...market, le: '+Inf' }),
    of('requests_total', { operation: 'leads.pipeline', failure: 'connect-failed' }),
    of('upstream_failures_total', { group: 'leads', reason: 'refused' }),
    of('requests_total', { operation: 'none', status_class: '4xx', failure: 'not-found' }),
    of('request_body_bytes_total', { operation: 'valuation.score' }),
    of('endpoint_requests_total', { group: 'market' }),
  ]).toEqual([2, 2, 2, 1, 1, 1, 5, 2])
  // A rate shows the first one too.
  const known = seriesOf(before)
  const added = [...seriesOf(text).keys()].filter((series) => !known.has(series))
  expect(added.filter((series) => !series.startsWith('lender_gateway_endpoint_latency_seconds'))).toEqual([])
})

test('with metrics: none nothing is counted, and there is no such page, until an edit has it again', async () => {
  const { url, admin, edit } = await bootLiveGateway({ metrics: 'none' })
  await fetch(`${url}/market/insights`)

  const off = await fetchAdmin(`${admin}/metrics`)

  expect(off).toMatchObject({ status: 404, body: { code: 'metrics-off' } })
  edit({})
  await fetchAdmin(`${admin}/reload`, 'POST')
  expect(total(await metrics(admin), 'lender_gateway_requests_total')).toBe(0)
})

test('clients are named when the file says so, and not else', async () => {
  const clients = [{ id: 'bank-a', operations: 'all', apiKeys: [{ id: 'key', sha256: hash('sha256', secret) }] }]
  const { url: upstream } = await httpUpstream()
  const settings = { upstream, auth: { methods: ['apiKey'] }, clients }
  const { url, admin, edit } = await bootLiveGateway(settings)

  const without = await metrics(admin)

  expect(without).not.toContain('bank-a')
  edit({ ...settings, metrics: { clients: true } })
  await fetchAdmin(`${admin}/reload`, 'POST')
  await fetch(`${url}/market/insights`, { headers: { 'X-API-Key': key } })
  const requests = async (): Promise<number> =>
    total(await metrics(admin), 'lender_gateway_client_requests_total', { client: 'bank-a', status_class: '2xx' })
  await expect.poll(requests).toBe(1)
  edit({ ...settings, metrics: { clients: true }, clients: [] })
  await fetchAdmin(`${admin}/reload`, 'POST')
  expect(await metrics(admin)).not.toContain('bank-a')
})

test('an edit that is rejected shows, and what came of it', async () => {
  idle.edit('nonsense')
  await fetchAdmin(`${idle.admin}/reload`, 'POST')

  const of = (name: string) => total(text, `lender_gateway_config_${name}`)
  const text = await metrics(idle.admin)
  expect([of('last_reload_successful'), of('file_differs')]).toEqual([0, 1])
  expect(of('loaded_timestamp_seconds')).toBeGreaterThanOrEqual(Math.floor(from))
  expect(of('loaded_timestamp_seconds')).toBeLessThanOrEqual(Date.now() / 1000)
  expect(total(text, 'lender_gateway_config_reloads_total', { trigger: 'request', result: 'rejected' })).toBe(1)
})

test('every reason has a series before it is one, and an endpoint that the file names twice is one', async () => {
  const { admin } = await bootLiveGateway({
    upstream: { endpoints: ['http://127.0.0.1:1', { url: 'http://127.0.0.1:1', weight: 1 }] },
    auth: {
      methods: ['apiKey', 'jwt', 'introspection', 'mtls'],
      jwt: { issuer, audience: [audience], jwks: jwks(signingKey('ES256', 'key')) },
      introspection: { url: 'https://auth.test/introspect', clientId: 'gateway', clientSecret: 's'.repeat(32) },
      mtls: { from: 'client-cert' },
    },
    listen: { trustedProxies: ['127.0.0.1'] },
  })

  const text = await metrics(admin)

  expect(total(text, 'lender_gateway_endpoint_state', { group: 'risk' })).toBe(1)
  expect(Object.keys(reasonTable).filter((reason) => !text.includes(`reason="${reason}"`))).toEqual([])
})
