/** Faults of upstreams, and what an operator reads of them. */

import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { FindingView } from '../../../../src/core/admin/findings/finding.ts'
import { programCommand } from '../../../../src/core/lib/program.ts'
import { runCommand } from '../../../core/cli/scripted-admin.ts'
import { type Certificates, makeCertificates, type Pair } from '../../../helpers/certificates.ts'
import { contractFile } from '../../../helpers/contract.ts'
import { withoutLateness } from '../../../helpers/findings.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { lacks, shows, symptom } from './symptom.ts'

const openssl = await needProgram('openssl')

const sendRequests = async (url: string, times = 1): Promise<readonly number[]> => {
  const got: number[] = []
  for (let n = 0; n < times; n++) got.push((await fetch(`${url}/market/insights`)).status)
  return got
}

test('a dead endpoint is named, with the code that people know it by', async () => {
  const upstream = await httpUpstream()
  const live = await bootLiveGateway({ upstreams: { market: upstream.url } })
  expect(await sendRequests(live.url)).toEqual([200])
  await lacks(live.admin, symptom(1))

  await upstream.close()
  expect(await sendRequests(live.url, 5)).toEqual([502, 502, 502, 502, 502])

  const { command } = await shows(live.admin, symptom(1))
  expect(command).toBe(`${programCommand()} check --online ${live.file}`)
  expect((await runCommand(['check', '--online', live.file])).out).toContain(
    'the endpoint refuses connections (ECONNREFUSED)',
  )
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

  const findings: readonly FindingView[] = (await fetchAdmin(`${live.admin}/status`)).body.findings as never
  expect(findings.find(({ severity }) => severity === 'critical')?.cause).toMatch(/: http:\S+ is down: .*ECONNREFUSED/)
})

test('a dead endpoint is shown by the command of its finding, also while the file is broken', async () => {
  const upstream = await httpUpstream()
  const live = await bootLiveGateway({ upstreams: { market: upstream.url } })
  expect(await sendRequests(live.url)).toEqual([200])
  await upstream.close()
  await sendRequests(live.url, 5)
  live.edit({ upstreams: { market: 'market.internal:8080' } })
  expect((await fetchAdmin(`${live.admin}/reload`, 'POST')).status).toBe(422)

  const findings: readonly FindingView[] = (await fetchAdmin(`${live.admin}/status`)).body.findings as never
  const command = findings.find(({ severity }) => severity === 'critical')?.command
  expect(command).toContain(' explain GET /market/insights --live ')
  const args = `${command}`.slice(programCommand().length + 1).split(' ')
  expect((await runCommand(args)).out).toContain('the endpoint refuses connections (ECONNREFUSED)')
})

test('a dead endpoint is named while stale responses stand in for it, and each attempt is counted', async () => {
  const upstream = await httpUpstream(
    (_, response) => void response.writeHead(200, { 'Cache-Control': 'max-age=0', ETag: '"a"' }).end('{}'),
  )
  const live = await bootLiveGateway({
    upstreams: { market: { endpoints: [upstream.url], circuitBreaker: { minRequests: 8 }, retry: {} } },
    operations: { 'market.insights': { cache: { staleIfError: '1h' } } },
  })
  expect(await sendRequests(live.url)).toEqual([200])

  await upstream.close()
  expect(new Set(await sendRequests(live.url, 12))).toEqual(new Set([200]))

  expect(withoutLateness((await fetchAdmin(`${live.admin}/status`)).body.findings)).toMatchObject([
    { cause: expect.stringMatching(/^no endpoint of market serves since [\d:]{8}: ECONNREFUSED at http:/) },
  ])
  const metrics = await (await fetch(`${live.admin}/metrics`)).text()
  expect(metrics).toMatch(/upstream_failures_total\{group="market",side="primary",reason="refused"\} ([7-9]|\d\d)$/m)
})

test('a slow endpoint is named, with the time that it was given', async () => {
  let slow = false
  const upstream = await httpUpstream((_, response) => void (slow || response.end()))
  const live = await bootLiveGateway({
    upstreams: { market: { endpoints: [upstream.url], timeouts: { headers: '1s' } } },
  })
  expect(await sendRequests(live.url)).toEqual([200])
  await lacks(live.admin, symptom(2))

  slow = true
  expect((await Promise.all([1, 2, 3, 4, 5].map(() => sendRequests(live.url)))).flat()).toEqual([
    504, 504, 504, 504, 504,
  ])

  expect((await shows(live.admin, symptom(2))).cause).toContain(
    `${upstream.url} did not answer within timeouts.headers (1s)`,
  )
})

test('an open circuit breaker is named, with what opened it', async () => {
  const upstream = await httpUpstream()
  const market = { endpoints: [upstream.url], circuitBreaker: { minRequests: 3, openFor: '1m' } }
  const live = await bootLiveGateway({ upstreams: { market } })
  expect(await sendRequests(live.url)).toEqual([200])
  await lacks(live.admin, symptom(7))

  await upstream.close()
  expect((await sendRequests(live.url, 8)).slice(-3)).toEqual([503, 503, 503])

  const { details } = await shows(live.admin, symptom(7))
  expect(details).toEqual([
    expect.stringMatching(
      /^http:\S+ refuses connections \(ECONNREFUSED\); no success since 2 failures; 2 of 3 requests to it failed since \S+$/,
    ),
    'the circuit breaker of market is open: 6 requests were refused in the last minute',
    expect.stringMatching(/^the first request after \d\d:\d\d:\d\d tries whether it is well$/),
    expect.stringMatching(/^for the owner of http:\S+ to mend: nothing has changed here since the last good answer$/),
  ])
})

describe.skipIf(openssl.missing !== null)('the certificate of an endpoint', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  test.each<[string, (made: Certificates) => Pair, RegExp]>([
    ['that has expired', ({ expired }) => expired, /CERT_HAS_EXPIRED at https:\S+/],
    ['for another name', ({ wrongName }) => wrongName, /the certificate of https:\S+ is for another name/],
    [
      'that nobody has signed',
      ({ selfSigned }) => selfSigned,
      /the certificate of https:\S+ is of an unknown authority/,
    ],
  ])('%s is named as such', async (_, pick, words) => {
    const server = createServer(made.right, (_, response) => void response.end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const url = `https://localhost:${(server.address() as AddressInfo).port}`
    const live = await bootLiveGateway({
      upstreams: { market: { endpoints: [url], tls: { ca: made.authority.cert } } },
    })
    expect(await sendRequests(live.url)).toEqual([200])
    await lacks(live.admin, symptom(3))

    server.setSecureContext(pick(made))
    server.closeAllConnections()
    expect(await sendRequests(live.url, 5)).toEqual([502, 502, 502, 502, 502])

    const expired = symptom(3)
    const cause = new RegExp(expired.cause.source.replace(/CERT_HAS_EXPIRED at .*$/, words.source))
    expect((await shows(live.admin, { ...expired, cause })).cause).toContain(url)
  })
})

test('an upstream that answers with errors of its own is named, though they are relayed', async () => {
  let broken = false
  const upstream = await httpUpstream((_, response) => void response.writeHead(broken ? 500 : 200).end())
  const live = await bootLiveGateway({ upstreams: { market: upstream.url } })
  const passedOn = {
    heading: '',
    severity: 'critical',
    about: 'operations.market.insights',
    cause: /its upstream answers with 5xx of its own \(\S+ answered 500 last\): 4 of 5 requests in the last minute/,
    command: / explain GET \/market\/insights --live --config /,
  }
  expect(await sendRequests(live.url)).toEqual([200])
  await lacks(live.admin, passedOn)

  broken = true
  expect(await sendRequests(live.url, 4)).toEqual([500, 500, 500, 500])

  await shows(live.admin, passedOn)
})

test('a stored error is told of the cache, with what clears it, and not of the upstream', async () => {
  let broken = true
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(broken ? 503 : 200, { 'Cache-Control': 'max-age=300' }).end()
  })
  const settings = { 'market.insights': { cache: true } }
  const live = await bootLiveGateway({ upstreams: { market: upstream.url }, operations: settings })
  const stored = {
    heading: '',
    severity: 'critical',
    about: 'operations.market.insights',
    cause: /the cache answers with a stored 503, which .* fresh until \S+: 5 of 6 requests in the last minute/,
    command: / cache clear market\.insights --config /,
  }
  await lacks(live.admin, stored)
  expect(await sendRequests(live.url)).toEqual([503])

  broken = false
  expect(await sendRequests(live.url, 5)).toEqual([503, 503, 503, 503, 503])

  await shows(live.admin, stored)
  const { body } = await fetchAdmin(`${live.admin}/status`)
  expect(JSON.stringify(body.findings)).not.toContain('its upstream answers')
  const { out } = await runCommand(['explain', 'GET', '/market/insights', '--live', '--admin', live.admin])
  expect(out).toMatch(stored.cause)
  expect((await runCommand(['cache', 'clear', 'market.insights', '--admin', live.admin])).code).toBe(0)
  expect(await sendRequests(live.url)).toEqual([200])
})

test('an upstream that fails POSTs with a key leaves their outcomes unknown', async () => {
  const upstream = await httpUpstream((_, response) => response.writeHead(500).end())
  const settings = { 'financing.pre-approval': { idempotency: true } }
  const live = await bootLiveGateway({ upstream: upstream.url, operations: settings })
  const post = (key: string) =>
    fetch(`${live.url}/financing/pre-approval`, { method: 'POST', headers: { 'Idempotency-Key': key }, body: 'a' })
  await lacks(live.admin, symptom(14))

  for (let i = 0; i < 10; i++) await (await post(`k-${i}`)).arrayBuffer()

  await shows(live.admin, symptom(14))
  expect((await post('k-0')).status).toBe(409)
})

test('a canary that answers 404 is named, with its share and the command that drains it; drained, it is not', async () => {
  const stable = await httpUpstream()
  const canary = await httpUpstream((_, response) => response.writeHead(404).end())
  const market = { endpoints: [stable.url, { url: canary.url, weight: 50 }] }
  const live = await bootLiveGateway({ upstreams: { market } })
  const findings = async () =>
    (await fetchAdmin(`${live.admin}/status`)).body.findings as unknown as readonly FindingView[]
  const canaries = async () => (await findings()).filter(({ about }) => about === 'upstreams.market')
  const before = await canaries()
  for (let n = 0; n < 120; n++) await (await fetch(`${live.url}/market/insights`)).arrayBuffer()

  const [found] = await canaries()
  const { out } = await runCommand(['status', '--admin', live.admin])
  const drain = await runCommand((found?.command ?? '').replace(`${programCommand()} `, '').split(' '))

  expect(before).toEqual([])
  const { length } = canary.requests
  expect(found?.cause).toContain(
    `${canary.url} answers 100 % of its requests with a 4xx, the other endpoints of market 0 % (of ${length} and ${120 - length} requests`,
  )
  expect(out).toContain(found?.cause)
  expect(drain.code).toBe(0)
  expect((await canaries()).filter(({ cause }) => cause.includes('4xx'))).toEqual([])
})

test('an upstream that breaks the contract is named, with the place and the rule', async () => {
  let grade = 'A'
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, ['Content-Type', 'application/json'])
    response.end(JSON.stringify({ grade }))
  })
  const live = await bootLiveGateway({ upstream: upstream.url, contract: { file: contractFile() } })
  const send = async (): Promise<string> => {
    const request = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"id":"a"}' }
    return (await fetch(`${live.url}/valuation/score`, request)).text()
  }
  expect(await send()).toBe('{"grade":"A"}')
  await lacks(live.admin, symptom(13))

  grade = 'Zebra'
  for (let n = 0; n < 4; n++) expect(await send()).toBe('{"grade":"Zebra"}')

  const { cause } = await shows(live.admin, symptom(13))
  expect(cause).toContain(`80 % of the responses of ${upstream.url} break the contract since `)
  expect(cause).not.toContain('Zebra')
})
