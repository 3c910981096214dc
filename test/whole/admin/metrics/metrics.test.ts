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

const metrics = async (admin: string, init: RequestInit = {}): Promise<string> => {
  const response = await fetch(`${admin}/metrics`, init)
  expect([response.status, response.headers.get('Content-Type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ])
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
  const up = (labels: Readonly<Record<string, string>>) =>
    total(text, 'lender_gateway_endpoint_state', { state: 'up', ...labels })
  expect(total(text, 'lender_gateway_endpoint_requests_total', { side: 'primary', endpoint: primary.url })).toBe(1)
  expect(total(text, 'lender_gateway_endpoint_requests_total', { side: 'candidate', endpoint: candidate.url })).toBe(0)
  expect(up({ group: 'market', side: 'candidate', endpoint: candidate.url })).toBe(1)
  expect(total(text, 'lender_gateway_upstream_breaker_state', { side: 'candidate', state: 'closed' })).toBe(1)
  expect(total(text, 'lender_gateway_candidate_share', { group: 'market' })).toBe(0)
  expect(total(text, 'lender_gateway_candidate_taken_back', { group: 'market' })).toBe(0)
  expect([...seriesOf(text).keys()].filter((series) => /group="risk".*side="candidate"/.test(series))).toEqual([])
  expect(
    [...seriesOf(text).keys()].filter((series) => /upstream_failures.*"market".*"candidate"/.test(series)),
  ).not.toEqual([])
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

test('when the configuration came to run is exported in seconds', async () => {
  const loadedAt = total(await metrics(idle.admin), 'lender_gateway_config_loaded_timestamp_seconds')

  expect(loadedAt).toBeGreaterThanOrEqual(Math.floor(from))
  expect(loadedAt).toBeLessThanOrEqual(Date.now() / 1000)
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
  const market = { operation: 'market.insights' }
  expect(total(text, 'lender_gateway_requests_total', { ...market, status_class: '2xx', failure: 'none' })).toBe(2)
  expect(total(text, 'lender_gateway_request_duration_seconds_count', market)).toBe(2)
  expect(total(text, 'lender_gateway_request_duration_seconds_bucket', { ...market, le: '+Inf' })).toBe(2)
  expect(total(text, 'lender_gateway_requests_total', { operation: 'leads.pipeline', failure: 'connect-failed' })).toBe(
    1,
  )
  expect(total(text, 'lender_gateway_upstream_failures_total', { group: 'leads', reason: 'refused' })).toBe(1)
  expect(
    total(text, 'lender_gateway_requests_total', { operation: 'none', status_class: '4xx', failure: 'not-found' }),
  ).toBe(1)
  expect(total(text, 'lender_gateway_request_body_bytes_total', { operation: 'valuation.score' })).toBe(5)
  expect(total(text, 'lender_gateway_endpoint_requests_total', { group: 'market' })).toBe(2)
  // A rate shows the first one too.
  const known = seriesOf(before)
  const added = [...seriesOf(text).keys()].filter((series) => !known.has(series))
  expect(added.filter((series) => !series.startsWith('lender_gateway_endpoint_latency_seconds'))).toEqual([])
})

test('with metrics: none nothing is counted, and there is no such page, until an edit has it again', async () => {
  const { url, admin, edit } = await bootLiveGateway({ metrics: 'none' })
  await fetch(`${url}/market/insights`)

  const off = await fetchAdmin(`${admin}/metrics`)

  expect([off.status, off.headers.get('Content-Type'), off.body.code]).toEqual([
    404,
    'application/problem+json',
    'metrics-off',
  ])
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

test('an endpoint that the file names twice is one', async () => {
  const { url } = await httpUpstream()
  const { admin } = await bootLiveGateway({ upstream: { endpoints: [url, { url, weight: 1 }] } })

  const text = await metrics(admin)

  expect(total(text, 'lender_gateway_endpoint_state', { group: 'risk' })).toBe(1)
  expect(seriesOf(text).size).toBeGreaterThan(0)
})

test('an edit that is rejected shows, and what came of it', async () => {
  idle.edit('nonsense')
  await fetchAdmin(`${idle.admin}/reload`, 'POST')

  const text = await metrics(idle.admin)
  expect(total(text, 'lender_gateway_config_last_reload_successful')).toBe(0)
  expect(total(text, 'lender_gateway_config_file_differs')).toBe(1)
  expect(total(text, 'lender_gateway_config_reloads_total', { trigger: 'request', result: 'refused' })).toBe(1)
})

test('every reason has a series before it is the reason of anything', async () => {
  const { admin } = await bootLiveGateway({
    auth: {
      methods: ['apiKey', 'jwt', 'introspection', 'mtls'],
      jwt: { issuer, audience: [audience], jwks: jwks(signingKey('ES256', 'key')) },
      introspection: { url: 'https://auth.test/introspect', clientId: 'gateway', clientSecret: 's'.repeat(32) },
      mtls: { from: 'client-cert' },
    },
    listen: { trustedProxies: ['127.0.0.1'] },
  })

  const text = await metrics(admin)

  expect(Object.keys(reasonTable).filter((reason) => !text.includes(`reason="${reason}"`))).toEqual([])
})
