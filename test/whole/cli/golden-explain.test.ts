import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { expectGolden, runInProcess, transcript } from '../../golden/golden.ts'

const explain = async (method: string, target: string, file = 'gateway.yaml', ...options: readonly string[]) => {
  const args = ['explain', method, target, '--config', file, ...options]
  const ran = await runInProcess(...args)
  return { ...ran, text: transcript(args, ran) }
}

test.each<[name: string, code: number, method: string, target: string, file?: string]>([
  ['forwarded', 0, 'POST', '/lender/v1/risk/asset-valuation'],
  ['rejected', 1, 'get', '/lender/v1/%6darket//Insigths/?a=1'],
  ['rejected-unrelated', 1, 'CONNECT', 'api.example:443'],
  [
    ...(['rejected-smuggled-line', 1, 'GET'] as const),
    '/lender/v1/market/insights HTTP/1.1\r\nHost: a\r\n\r\nGET /lender/v1/leads/pipeline',
  ],
  ['with-broken-tab', 1, 'GET', '/market/insights', 'broken-tab.yaml'],
  ['with-missing', 2, 'GET', '/market/insights', 'missing.yaml'],
])('explain prints what its golden file says: %s', async (name, code, method, target, file) => {
  const ran = await explain(method, target, file)

  expect(ran.code).toBe(code)
  expectGolden(`explain-${name}.txt`, ran.text)
})

test('a group with a candidate has the endpoints and the settings of both', async () => {
  const { text } = await explain('GET', '/market/insights', 'candidate.yaml')

  const [sides = ''] = text.split('\noperations.')
  expectGolden('explain-candidate.txt', sides)
})

const market = '/lender/v1/market/insights'

test.each<[method: string, target: string, file: string, ...rows: readonly string[]]>([
  [
    ...(['GET', '/lender/v1/analysis/esg-grant?grant=eu&year=2026', 'gateway.yaml'] as const),
    ...['query  ?grant=eu&year=2026 passes through untouched', "host  the client's  upstream  gateway.yaml:26"],
    ...['timeouts.body  none  upstream  gateway.yaml:28', 'tls.serverName  grants.internal  upstream  gateway.yaml:30'],
    ...['tls.verify  true  built-in', 'https://analysis.internal/grants/analysis/esg-grant  weight 100, 100%'],
  ],
  [
    ...(['GET', '/lender/v1/leads/pipeline?', 'gateway.yaml', 'query  ? passes through untouched'] as const),
    ...['http://[2001:db8::1]:8080/leads/pipeline  weight 100, 100%', "host  the endpoint's own  built-in"],
  ],
  [
    ...(['GET', `http://api.example:8080${market}`, 'gateway.yaml'] as const),
    'authority  api.example:8080 of the target, in place of the Host field (RFC 9112 §3.2.2)',
    ...['keepAlive  none  upstream', 'healthCheck  none  upstream', 'outlier  none  upstream'],
    ...['body-limit  maxBody: 0B  upstream', 'deadline  deadline: none (off)  operation  gateway.yaml:79'],
    ...['cache  cache: maxEntry: 1MiB, staleWhenDisconnected: 1m  operation  gateway.yaml:80'],
  ],
  ['GET', '/market/insights', 'plain.yaml', 'sandbox (embedded)  weight 100', 'listen.basePath  (empty)  built-in'],
  [
    ...(['GET', '/market/insights', 'edge.yaml'] as const),
    ...[
      'load-shedding  limits.eventLoopDelay: 200ms  file  edge.yaml:14',
      'concurrency  limits.concurrency: 500  file',
    ],
    ...['address-limit  limits.address: rate: 100/s, burst: 200  file  edge.yaml:15', 'limits.redis.url  ***  file'],
    ...['limits.address.ipv6Prefix  56  file', 'listen.trustedProxies  10.0.0.0/8, 192.0.2.7  file  edge.yaml:8'],
    ...['listen.hosts  api.example, api.example:8443  file', 'listen.minRate  240B/s  file  edge.yaml:9'],
  ],
  [
    ...(['POST', '/lender/v1/inventory/sync', 'gateway.yaml', 'rejected with 503 rejected-by-operator'] as const),
    'why  the operator has taken it out of service: operations.inventory.sync.state (gateway.yaml:77)',
    ...[
      'hint  write "state: serve" there, or remove the line',
      'operation  inventory.sync',
      'state  reject  operation',
    ],
    'idempotency  idempotency: false (off)  built-in',
  ],
])('explain %s %s with %s has the rows of what is written', async (method, target, file, ...rows) => {
  const { out } = await explain(method, target, file)

  const text = out.replaceAll(/ {2,}/g, '  ')
  for (const row of rows) expect(text).toContain(row)
  expect(out).not.toContain('a-secret-of')
})

test('as JSON the same stands by its name, with its place', async () => {
  const { code, out } = await explain('POST', '/lender/v1/risk/asset-valuation', undefined, '--format', 'json')

  expect(code).toBe(0)
  const risk = { id: 'risk.asset-valuation', method: 'POST', path: '/risk/asset-valuation', group: 'risk' }
  const builtIn = { level: 'built-in', line: null, column: null }
  const explained = JSON.parse(out)
  expect(explained).toMatchObject({
    ...{ forwarded: true, method: 'POST', target: '/lender/v1/risk/asset-valuation', file: 'gateway.yaml' },
    ...{ hash: expect.stringMatching(/^[0-9a-f]{12}$/), rejected: null, operation: risk, query: '', authority: null },
    weightMeans: expect.stringContaining('a weight is a share of the traffic; '),
    settings: {
      'upstreams.risk.host': { value: 'risk.example', level: 'upstream', line: 53, column: 11 },
      'upstreams.risk.timeouts.body': { value: '30s', ...builtIn },
      'operations.risk.asset-valuation.state': { value: 'serve', ...builtIn },
      'listen.maxTarget': { value: '128B', level: 'file', line: 6, column: 14 },
    },
  })
  const written = { level: 'upstream', line: 33, column: 5 }
  expect(explained.endpoints).toMatchObject([
    {
      ...{ url: 'http://risk-a.internal:8080/v2/risk/asset-valuation', pathPrefix: '/v2', weight: 100, drain: false },
      ...{ percent: 90.9, mostPercent: 100, sandbox: false, ...written },
    },
    { weight: 10, percent: 9.1, mostPercent: 18.2, ...written },
    { drain: true, percent: 0, mostPercent: 0 },
    { url: 'sandbox', sandbox: true, weight: 0, percent: 0 },
  ])
  expect(explained.fields).toContainEqual({
    ...{ what: 'request.set X-Api-Key', key: 'upstreams.risk.request', value: '***' },
    ...{ level: 'upstream', line: 57, column: 5 },
  })
  expect(explained.layers[0]).toEqual({ name: 'tracing', on: false, key: 'tracing.otlp', value: 'none', ...builtIn })
  expect(explained.layers).toHaveLength(21)
})

test('as JSON a rejection has its reasons', async () => {
  const { code, out } = await explain('HEAD', '/lender/v1/valuation/score', undefined, '--format', 'json')

  expect(code).toBe(1)
  expect(JSON.parse(out)).toMatchObject({
    forwarded: false,
    rejected: {
      ...{ status: 405, code: 'method-not-allowed', allow: 'POST', meant: 'valuation.score' },
      why: ['/valuation/score takes POST and nothing else, not HEAD'],
      hint: 'send POST /lender/v1/valuation/score',
    },
    ...{ operation: null, endpoints: [], fields: [], layers: [], settings: {} },
  })
})

test('as JSON a broken file has its problems', async () => {
  const { code, out } = await explain('GET', '/market/insights', 'broken-tab.yaml', '--format', 'json')

  const problems = [{ line: 3, column: 1, path: 'upstreams', message: 'a tab in the indentation' }]
  expect([code, JSON.parse(out)]).toMatchObject([1, { forwarded: null, file: 'broken-tab.yaml', hash: null, problems }])
})

test('no golden file shows a secret or a path of a machine', () => {
  const folder = fileURLToPath(new URL('../../golden/', import.meta.url))
  const golden = readdirSync(folder).filter((name) => /\.(txt|json|yaml)$/.test(name))
  const leak = /a-secret-of|from-outside|\/(home|work|tmp|root|usr)\//

  expect(golden.filter((name) => leak.test(readFileSync(`${folder}${name}`, 'utf8')))).toEqual([])
  expect(golden.length).toBeGreaterThan(10)
})
