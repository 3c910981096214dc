/** Each fault's finding, and the command that it names. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { programCommand } from '../../../../src/core/lib/program.ts'
import { runCommand } from '../../../core/cli/scripted-admin.ts'
import { withoutLateness } from '../../../helpers/findings.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { hurryClock } from '../../../helpers/odd-clocks.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { drill, part, test, testAndDrill } from '../../../helpers/speed.ts'
import { tokenBindingSettings } from '../../../helpers/token-binding.ts'
import { signingKey } from '../../../helpers/tokens.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { faults, programFor } from './plant.ts'
import { findingsOf, lacks, shows, symptom } from './symptom.ts'

const ofInsights = { heading: '', severity: 'critical', about: 'operations.market.insights' }

const sendRequests = async (url: string, times = 1): Promise<readonly number[]> => {
  const got: number[] = []
  for (let n = 0; n < times; n++) got.push((await fetch(`${url}/market/insights`)).status)
  return got
}

const timelyFindingsOf = async (admin: string) => withoutLateness(await findingsOf(admin))

const runFound = (command: string | null | undefined) =>
  runCommand(`${command}`.replace(`${programCommand()} `, '').split(' '))

const drills = [
  'a slow endpoint',
  'a certificate that has expired',
  'an open circuit breaker',
  'bodies that are too large',
]

for (const fault of faults.filter(({ isOfProcess }) => !isOfProcess)) {
  const program = programFor(fault)
  const declare = fault.needs === 'redis-server' || drills.includes(fault.name) ? drill : test
  declare.skipIf(program === null)(`${fault.name}: it is named, and not before`, async () => {
    const { admin, fail } = await fault.plant({}, program ?? '')
    await lacks(admin, symptom(fault.number))

    await fail()

    expect((await shows(admin, symptom(fault.number))).cause).toMatch(fault.says ?? /./)
  })
}

test('an event loop that is starved is named, with how late it is', async () => {
  const live = await bootLiveGateway({ limits: { eventLoopDelay: '1s' } })
  expect(await sendRequests(live.url)).toEqual([200])
  await lacks(live.admin, symptom(12))

  hurryClock()
  await expect.poll(() => sendRequests(live.url)).toEqual([503])

  await shows(live.admin, symptom(12))
})

test('a dead endpoint is shown by the command of its finding, also while the file is broken', async () => {
  const upstream = await httpUpstream()
  const live = await bootLiveGateway({ upstreams: { market: upstream.url } })
  await upstream.close()
  expect(await sendRequests(live.url, 5)).toEqual([502, 502, 502, 502, 502])
  const commandOf = async () =>
    (await timelyFindingsOf(live.admin)).find(({ severity }) => severity === 'critical')?.command

  const trial = await commandOf()
  live.edit({ upstreams: { market: 'market.internal:8080' } })
  const runTrial = async () => (await runFound(trial)).out
  expect((await fetchAdmin(`${live.admin}/reload`, 'POST')).status).toBe(422)
  const explanation = await commandOf()

  expect(trial).toBe(`${programCommand()} check --online ${live.file}`)
  expect(await runTrial()).toContain('upstreams.market: not a URL')
  expect(explanation).toContain(' explain GET /market/insights --live ')
  expect((await runFound(explanation)).out).toContain('the endpoint refuses connections (ECONNREFUSED)')
})

test('an endpoint that its health check finds down is not said to be so since a request that failed long before', async () => {
  let probes = 0
  const upstream = await httpUpstream((request, response) => {
    if (request.url !== '/healthz') return void response.destroy()
    probes++
    response.end()
  })
  const healthCheck = { path: '/healthz', interval: '1s', unhealthyAfter: 1 }
  const live = await bootLiveGateway({ upstreams: { market: { endpoints: [upstream.url], healthCheck } } })
  expect(await sendRequests(live.url)).toEqual([502])
  const before = probes
  await expect.poll(() => probes).toBeGreaterThan(before + 1)

  await upstream.close()
  await live.line(({ msg }) => msg === 'endpoint down')

  const critical = (await timelyFindingsOf(live.admin)).find(({ severity }) => severity === 'critical')
  expect(critical?.cause).toMatch(/: http:\S+ is down: .*ECONNREFUSED/)
})

test('a dead endpoint is named while stale responses stand in for it, and each attempt is counted', async () => {
  const upstream = await httpUpstream(
    (_, response) => void response.writeHead(200, { 'Cache-Control': 'max-age=0', ETag: '"a"' }).end('{}'),
  )
  const market = { endpoints: [upstream.url], circuitBreaker: { minRequests: 8 }, retry: {} }
  const operations = { 'market.insights': { cache: { staleIfError: '1h' } } }
  const live = await bootLiveGateway({ upstreams: { market }, operations })
  expect(await sendRequests(live.url)).toEqual([200])

  await upstream.close()
  expect(new Set(await sendRequests(live.url, 12))).toEqual(new Set([200]))

  expect(await timelyFindingsOf(live.admin)).toMatchObject([
    { cause: expect.stringMatching(/^no endpoint of market serves since [\d:]{8}: ECONNREFUSED at http:/) },
  ])
  const metrics = await (await fetch(`${live.admin}/metrics`)).text()
  expect(metrics).toMatch(/upstream_failures_total\{group="market",side="primary",reason="refused"\} ([7-9]|\d\d)$/m)
})

test('an upstream that responds with errors of its own is named, though they are relayed', async () => {
  let status = 200
  const upstream = await httpUpstream((_, response) => void response.writeHead(status).end())
  const live = await bootLiveGateway({ upstreams: { market: upstream.url } })
  expect(await sendRequests(live.url)).toEqual([200])
  status = 500
  expect(await sendRequests(live.url, 4)).toEqual([500, 500, 500, 500])

  await shows(live.admin, {
    ...ofInsights,
    cause:
      /its upstream responds with 5xx of its own \(\S+ responded with 500 last\): 4 of 5 requests in the last minute/,
    command: / explain GET \/market\/insights --live --config /,
  })
})

test('a stored error is told of the cache, with what clears it, and not of the upstream', async () => {
  let status = 503
  const upstream = await httpUpstream(
    (_, response) => void response.writeHead(status, { 'Cache-Control': 'max-age=300' }).end(),
  )
  const operations = { 'market.insights': { cache: true } }
  const live = await bootLiveGateway({ upstreams: { market: upstream.url }, operations })
  expect(await sendRequests(live.url)).toEqual([503])
  status = 200
  expect(await sendRequests(live.url, 5)).toEqual([503, 503, 503, 503, 503])

  const { cause, command } = await shows(live.admin, {
    ...ofInsights,
    cause: /the cache responds with a stored 503, which .* fresh until \S+: 5 of 6 requests in the last minute/,
    command: / cache clear market\.insights --config /,
  })
  expect(JSON.stringify(await timelyFindingsOf(live.admin))).not.toContain('its upstream responds')
  const explained = await runCommand(['explain', 'GET', '/market/insights', '--live', '--admin', live.admin])
  expect(explained.out).toContain(cause)
  expect((await runFound(command)).code).toBe(0)
  expect(await sendRequests(live.url)).toEqual([200])
})

test('a canary that responds with 404 is named, with its share and the command that drains it; drained, it is not', async () => {
  const stable = await httpUpstream()
  const canary = await httpUpstream((_, response) => response.writeHead(404).end())
  const market = { endpoints: [stable.url, { url: canary.url, weight: 50 }] }
  const live = await bootLiveGateway({ upstreams: { market } })
  const canaries = async () => (await timelyFindingsOf(live.admin)).filter(({ about }) => about === 'upstreams.market')
  const before = await canaries()
  await sendRequests(live.url, 120)

  const [found] = await canaries()
  const { out } = await runCommand(['status', '--admin', live.admin])
  const drain = await runFound(found?.command)

  expect(before).toEqual([])
  const { length } = canary.requests
  expect(found?.cause).toContain(
    `${canary.url} responds to 100 % of its requests with a 4xx, the other endpoints of market to 0 % (of ${length} and ${120 - length} requests`,
  )
  expect(out).toContain(found?.cause)
  expect(drain.code).toBe(0)
  expect((await canaries()).filter(({ cause }) => cause.includes('4xx'))).toEqual([])
})

const rejected: readonly [string, object, string][] = [
  ['that needs a restart', { workers: 2 }, 'it needs a restart'],
  ['whose audit file cannot be opened', { audit: { file: '/nowhere/audit.log', key: 'file:audit.key' } }, 'ENOENT'],
]

testAndDrill.each(part(rejected))('an edit %s leads to the command that says so again', async (_, settings, reason) => {
  const live = await bootLiveGateway()
  writeFileSync(join(live.folder, 'audit.key'), 'k'.repeat(32), { mode: 0o600 })
  live.edit(settings)

  expect((await fetchAdmin(`${live.admin}/reload`, 'POST')).status).toBe(422)

  const findings = await timelyFindingsOf(live.admin)
  expect(findings).toMatchObject([{ about: 'config', command: expect.stringContaining(' reload --config ') }])
  const again = await runFound(findings[0]?.command)
  expect(again).toMatchObject({ code: 1, out: expect.stringContaining(reason) })
})

test('Redis that is gone is named where it remembers proofs alone, and the metric for the alert says so', async () => {
  const live = await bootLiveGateway({
    ...tokenBindingSettings(signingKey('ES256', 'issuer'), { dpop: {} }),
    limits: { redis: { url: 'redis://127.0.0.1:1' } },
  })
  await live.line(({ msg }) => msg === 'limits are not shared')

  expect(await timelyFindingsOf(live.admin)).toMatchObject([{ severity: 'critical', about: 'redis' }])
  expect(await (await fetch(`${live.admin}/metrics`)).text()).toMatch(/^lender_gateway_rate_limits_shared 0$/m)
})

test('connections that are closed at once are named by the setting that has it so', async () => {
  const live = await bootLiveGateway({ listen: { maxConnections: 1 } })
  const port = Number(new URL(live.url).port)
  const [first, second] = [await rawClient(port), await rawClient(port)]
  await second.ended()

  await shows(live.admin, {
    ...{ heading: '', severity: 'warning', about: 'listen.maxConnections', command: null },
    cause: /listen\.maxConnections was reached: 1 connection was closed at once in the last minute; it is 1 now/,
  })
  first.close()
})
