import { describe, expect, test } from 'vitest'
import { ownerDetails } from '../../../../src/core/admin/findings/failure-phrases.ts'
import type { FindingInputs, RecentTraffic } from '../../../../src/core/admin/findings/finding-inputs.ts'
import type { RecentError } from '../../../../src/core/log/recent-errors.ts'
import type { PrimaryParts } from '../../../../src/core/runtime/primary-part.ts'
import { applyFailedProblem } from '../../../../src/core/runtime/reload/reload-problems.ts'
import type { EndpointReport } from '../../../../src/core/runtime/status/endpoint.ts'
import type { AuditWriterState } from '../../../../src/features/audit/audit-writer.ts'
import { zeroCacheOutcomes } from '../../../../src/features/cache/store/stored-response.ts'
import { byOperation, type OperationId } from '../../../../src/operations.ts'
import {
  at,
  cause,
  endpoint,
  findingInputs,
  renderFindings,
  risk,
} from '../../../core/admin/findings/finding-inputs.ts'
import { folderWith } from '../../../core/config/helper.ts'
import { tokenBindingSettings } from '../../../helpers/token-binding.ts'
import { signingKey } from '../../../helpers/tokens.ts'

type Inputs = NonNullable<Parameters<typeof findingInputs>[0]>

/** Overrides of a healthy gateway, and the findings: one line each. */
type Row = [what: string, inputs: Inputs, ...findings: (string | RegExp)[]]

const found = (inputs: Inputs = {}) => renderFindings(findingInputs(inputs))

/** Severity, subject, start (time of day) and cause. */
const lines = (inputs: Inputs) =>
  found(inputs).map(({ severity, about, since, cause }) =>
    [severity, about, ...(since === null ? [] : [since.slice(11, 19)]), cause].join(' '),
  )

const expectFindings = (_: string, inputs: Inputs, ...findings: readonly (string | RegExp)[]) =>
  expect(lines(inputs)).toEqual(findings.map((each) => (typeof each === 'string' ? each : expect.stringMatching(each))))

const riskOf = (...endpoints: readonly EndpointReport[]) => ({ upstreams: { risk: { endpoints } } })
const rejects = `${risk} refuses connections (ECONNREFUSED)`
const asset = 'risk.asset-valuation'
const explain = 'explain POST /risk/asset-valuation --live'
const tryIt = 'check --online gateway.yaml'

const edit = (rejection: Partial<NonNullable<FindingInputs['file']['rejection']>> = {}, more: object = {}) => {
  const whole = {
    at,
    since: at,
    trigger: 'file',
    problems: [],
    isFileSound: false,
    areWorkersSilent: false,
    ...rejection,
  }
  const file = { name: 'gateway.yaml', differing: ['gateway.yaml'], rolledBack: false, nextTryAt: null, ...more }
  return { file: { ...file, rejection: whole } as FindingInputs['file'] }
}
const edited = { file: { ...edit().file, rejection: null } }

const trafficOf = (id: OperationId, more: Partial<RecentTraffic>) => ({
  recent: {
    ...byOperation(() => ({ requests: 0, passedOn: 0, storedErrors: 0 })),
    [id]: { requests: 40, passedOn: 0, storedErrors: 0, ...more },
  },
})

test('a gateway that is well has none', () => {
  expect(found()).toEqual([])
})

test('the worst comes first, whatever it is of', () => {
  const unmatched = cause({ kind: 'not-found', reason: null, operation: null, endpoint: null })
  const all = { causes: [cause(), unmatched], ...edit() }

  expectFindings('', all, /^critical upstreams.risk /, /^warning config /, /^notice clients /)
})

test.each([
  [at - 5000, '02:03:55'],
  [null, '01:04:00'],
])('a worker that hangs does so since it was last heard of, and is replaced when killed', (heardAt, since) => {
  const counts = { restarts: 0, inFlight: null, config: null }
  const worker = { worker: 2, pid: 4711, state: 'not replying', startedAt: at - 3_600_000, heardAt, ...counts }
  const parts = { audit: { state: null }, workers: { states: [worker] } } as object as PrimaryParts

  expect(lines({ parts })).toEqual([expect.stringMatching(`${since} worker 2 does not reply$`)])
  expect(found({ parts })[0]?.details).toEqual(['if this lasts: kill -9 4711, and another worker starts'])
})

const other = endpoint({ url: 'http://risk-b:8080' })

const rejectedAt = (when: number, url = risk) =>
  ({ at: when, endpoint: url, kind: 'connect-failed', reason: 'refused', status: null }) as const
const expiredAt = (url = risk) =>
  ({ ...rejectedAt(at, url), kind: 'tls-failed', reason: 'certificate-expired' }) as const
const responded = (status: number, when = at) =>
  ({ at: when, endpoint: risk, kind: null, reason: null, status }) as const

const failing = (since: number, more: Partial<EndpointReport> = {}) => {
  const reason = '9 failures in a row, the last: the endpoint refuses connections (ECONNREFUSED)'
  return endpoint({
    state: { name: 'failing', since, reason },
    ...{ requests: 40, failures: 9, ejections: 0 },
    succeededAt: since - 50,
    failingSince: since,
    lastFailure: rejectedAt(at - 80),
    ...more,
  })
}

const down = (reason: string, more: Partial<EndpointReport> = {}) =>
  endpoint({ state: { name: 'down', since: at, reason }, ...more })

const ejectedState = { name: 'ejected', since: at - 5000, reason: '5 failures in a row' } as const
const ejected = (more: Partial<EndpointReport> = {}) => endpoint({ state: ejectedState, ...more })

const day = 86_400_000
const certificate = (days: number, address = '192.0.2.1') =>
  ({ address, notAfter: at + days * day, warnFrom: at + (days - 14) * day, seenAt: at - 60_000 }) as const
const showing = (...certificates: readonly ReturnType<typeof certificate>[]) => endpoint({ certificates })
const expiredCertificate = `upstreams.risk 02:04:00 the certificate of ${risk} has expired, at 2026-11-20T02:04:00.000Z; it was last seen at 2026-11-21T02:03:00.000Z`
const unverified = { upstreams: { risk: { endpoints: ['https://risk-a'], tls: { verify: false, insecure: true } } } }

describe('an endpoint', () => {
  test('that fails is named with its cause, how often, since when, and what shows more', () => {
    expect(found({ causes: [cause()] })).toEqual([
      {
        ...{ severity: 'critical', about: 'upstreams.risk', alsoAbout: [], details: [] },
        cause: `${rejects}: 12 requests failed in the last minute`,
        ...{ since: '2026-11-21T02:03:00.000Z', command: `lender-gateway ${tryIt}` },
      },
    ])
  })

  const lastFailure = responded(500, at - 2000)
  const failed = { failingSince: at - 60_000, failuresInARow: 3, onProbation: true, lastFailure }
  const twelve = '12 requests failed in the last minute'
  const isDown = `upstreams.risk 02:03:00 ${rejects}`
  const itsCertificate = `upstreams.risk the certificate of ${risk}`
  const expiredOne = riskOf(showing(certificate(-1)))
  const atOne = riskOf(showing(certificate(300), certificate(9, '::1')))
  const rejected12 = { causes: [cause()] }
  const in9Days = '2026-11-30T02:04:00.000Z'

  const ofCause = (...more: Parameters<typeof cause>) => ({ causes: [cause(...more)] })
  const resets = (kind: 'reset-before-headers' | 'truncated', lastMinute: number) =>
    cause({ kind, reason: 'closed', lastMinute })
  const downBefore = riskOf(endpoint({ state: { name: 'down', since: at - 60_000, reason: 'a 404' } }))
  const outFor10s = ejected({ ejectedForMs: 10_000 })
  const draining = endpoint({ state: { name: 'draining', since: at - 1000, reason: null } })
  const ofTwo = { risk: { endpoints: [showing(certificate(9))] }, market: { endpoints: [showing(certificate(9))] } }
  const untilThen = 'it is ejected until 2026-11-21T02:04:10.000Z: 5 failures in a row'
  const passing = (lastFailure: EndpointReport['lastFailure']) => riskOf(endpoint({ lastFailure }))
  const lateBefore = { kind: 'headers-timeout', reason: null, lastAt: at - 10_000 } as const
  const unresolved = { since: at - 5000, reason: 'the name does not resolve (ENOTFOUND)' }

  test.each<Row>([
    ['closing', { causes: [resets('truncated', 3), resets('reset-before-headers', 2)] }, / closed the connection: 5 /],
    ['in a group twice', { ...rejected12, ...riskOf(endpoint(), endpoint()) }, `critical ${isDown}: ${twelve}`],
    ['out', { ...rejected12, ...riskOf(outFor10s, other) }, /^warning .*\(ECONNREFUSED\): 12 .*; it is ejected until/],
    ['out long ago', riskOf(outFor10s, other), `warning upstreams.risk 02:03:55 ${risk}: ${untilThen}`],
    ['out for its last failure', riskOf(ejected({ lastFailure: expiredAt() }), other), /_EXPIRED\); it is ejected: 5/],
    ['made good', passing(rejectedAt(at - 1000)), /^notice .*\(ECONNREFUSED\), and another attempt was made$/],
    ['passed on', passing(responded(503, at - 1000)), /^notice .* responded with 503, which is passed on$/],
    ['well after a minute', passing(rejectedAt(at - 61_000))],
    ['dead', riskOf(failing(at - 600_400), other), /^warning \S+ 01:53:59 .*; its last requests failed$/],
    ['dead and ejected', riskOf(ejected(failed), other), /^warning upstreams.risk 02:03:00 /],
    ['dead after its ejection', riskOf(endpoint(failed), other), /02:03:00 .*has succeeded since it was ejected$/],
    ['well after its ejection', riskOf(endpoint({ ...failed, failingSince: null }), other), /^notice /],
    ['failed before its drain', { ...ofCause({ lastMinute: 0 }), ...riskOf(draining, other) }, /^notice \S+ 02:03:00 /],
    ['left alone', { causes: [cause()], ...riskOf(ejected(), other) }, /^warning /],
    ['down, and responds', downBefore, /^warning .*it is down: a 404, but still responds$/],
    ['failing 15 s ago', ofCause({ lastAt: at - 14_999 }), `critical ${isDown}: ${twelve}`],
    ['failing before that', ofCause({ lastAt: at - 15_000 }), `warning ${isDown}: ${twelve}, none since 02:03:45`],
    ['failing a minute ago', ofCause({ lastMinute: 0, last15Min: 7 }), /^notice .* 7 .*15 minutes, none in the last/],
    [
      'unnamed',
      riskOf(endpoint({ outdated: unresolved })),
      /cannot be resolved any more: .*\(ENOTFOUND\); requests still go/,
    ],
    ['late before an edit', { ...ofCause(lateBefore), loadedAt: at - 5_000 }, / within timeouts.headers: 12 requests/],
    ['slow', riskOf(endpoint({ latencyMs: 9000 })), /takes 9s .*is given up after 15s \(timeouts.headers\)$/],
    ['less slow', riskOf(endpoint({ latencyMs: 7000 }))],
    ['not resolved', ofCause({ reason: 'name-not-found' }), / the name of http:\S+ does not resolve \(ENOTFOUND\): 12/],
    ['misnamed', ofCause({ reason: 'certificate-name' }), / the certificate of http:\S+ is for another name: 12/],
    ['good for 14.1 days', riskOf(showing(certificate(14.1)))],
    ['good for 9 days', riskOf(showing(certificate(9))), `warning ${itsCertificate} expires at ${in9Days}`],
    ['expired', expiredOne, `critical ${expiredCertificate}`],
    ['expired, unverified', { ...expiredOne, settings: unverified }, `warning ${expiredCertificate}`],
    ['expired, and fails', { ...expiredOne, ...ofCause(expiredAt()) }, / \(CERT_HAS_EXPIRED\): 12 /],
    ['first at ::1', atOne, `warning ${itsCertificate}, as ::1 shows it, expires at ${in9Days}`],
    ['of two groups', { upstreams: ofTwo }, / expires at 2026-11-30T02:04:00.000Z \(the same behind market\)$/],
  ])('is found as one that is %s', expectFindings)

  test('whose certificate has expired is named once where another endpoint makes good what fails for it', () => {
    const broken = { ...failed, certificates: [certificate(-1)], onProbation: false, lastFailure: expiredAt() }

    expect(
      lines(riskOf(endpoint(broken), other))
        .join()
        .match(/has expired/g),
    ).toHaveLength(1)
  })

  test('that does not respond is named with the limit, and once, whatever it failed by', () => {
    const kinds = ['headers-timeout', 'deadline-exceeded'] as const
    const said = `${risk} did not respond within timeouts.headers (15s): ${twelve}`
    const details = [`${risk}: there was no response within the deadline of the operation (30s): ${twelve}`]

    const causes = kinds.map((kind) => cause({ kind, reason: null }))
    expect(found({ causes })).toMatchObject([{ cause: said, alsoAbout: [], details }])
  })

  test.each<[string, Inputs, string]>([
    [
      'not tried while the file differs from the running configuration',
      { ...riskOf(failing(at - 2000)), ...edited },
      explain,
    ],
    ['not tried where probes find it down: a trial does not ask for the path', riskOf(down('it'), other), explain],
    ['tried where its certificate ends soon', riskOf(showing(certificate(9))), tryIt],
  ])('is %s', (_, inputs, command) => {
    expect(found(inputs)[0]?.command).toBe(`lender-gateway ${command}`)
  })

  test.each([
    ['connect-timeout', tryIt],
    ['tls-failed', tryIt],
    ['headers-timeout', explain],
    ['reset-before-headers', explain],
  ] as const)('is tried where no connection was made: %s', (kind, command) => {
    const dead = failing(at - 1000, { lastFailure: { ...rejectedAt(at), kind, reason: null } })

    for (const inputs of [{ causes: [cause({ kind, reason: null })] }, riskOf(dead, other), riskOf(dead)])
      expect(found(inputs)[0]?.command).toBe(`lender-gateway ${command}`)
  })
})

describe('a group', () => {
  const dead = (more: Partial<EndpointReport> = {}) => failing(at - 2000, more)
  const tripped = (state: 'open' | 'half-open') =>
    ({
      ...{ state, since: at - 700, where: null, outageSince: at - 1800, lastFailure: rejectedAt(at - 80) },
      openForMs: state === 'open' ? 4000 : null,
    }) as const

  test('of which no endpoint serves is one finding, since the first failure, with its endpoints below it', () => {
    const rejected = cause({ kind: 'circuit-open', reason: 'breaker-open', endpoint: null, lastMinute: 40 })
    const upstreams = { risk: { breaker: tripped('open'), endpoints: [dead()], retryBudget: { left: 0 } } }

    expect(found({ upstreams, causes: [rejected, cause()] })).toEqual([
      {
        ...{ severity: 'critical', about: 'upstreams.risk', alsoAbout: [] },
        cause: `no endpoint of risk serves since 02:03:58; every request to risk.asset-valuation fails: ECONNREFUSED at ${risk}`,
        details: [
          `${risk} is failing: 9 failures in a row, the last: the endpoint refuses connections (ECONNREFUSED); 9 of 40 requests to it failed since 00:04:00`,
          'the circuit breaker of risk is open: 40 requests were rejected in the last minute',
          'the first request after 02:04:04 is sent as a test',
          `the owner of ${risk} must fix this: nothing has changed here since the last good response`,
        ],
        ...{ since: '2026-11-21T02:03:58.000Z', command: `lender-gateway ${tryIt}` },
      },
    ])
  })

  test.each([
    ['never responded, after an edit', null, at - 60_000, 1],
    ['responded once', at - 5000, at - 60_000, 0],
    ['never responded, since the start', null, null, 0],
  ])('whose endpoint has %s, says so, and what undoes that', (_, succeededAt, undoableEditAt, count) => {
    const details = found({ ...riskOf(dead({ succeededAt })), causes: [cause()], undoableEditAt })[0]?.details ?? []

    const hint = 'no request there has succeeded yet: lender-gateway rollback undoes the last edit, of 02:03:00'
    expect(details.filter((line) => line === hint)).toHaveLength(count)
  })

  test('is named as before while its breaker finds out, and while no request comes', () => {
    const said = (state: 'open' | 'half-open', lastMinute: number) =>
      lines({ upstreams: { risk: { breaker: tripped(state), endpoints: [dead()] } }, causes: [cause({ lastMinute })] })

    expect(said('half-open', 0)).toEqual(said('open', 40))
  })

  const silent = (more: Partial<EndpointReport> = {}, requests = 0): Inputs => ({
    ...riskOf(failing(at - 90_000, { failuresInARow: 9, lastFailure: rejectedAt(at - 70_000), ...more })),
    causes: [cause({ lastMinute: 0, lastAt: at - 70_000 })],
    ...trafficOf(asset, { requests }),
  })
  const through = endpoint({ succeededAt: at - 100, lastFailure: rejectedAt(at - 80) })
  const throughBreaker = (state: 'open' | 'half-open') => ({
    upstreams: { risk: { breaker: tripped(state), endpoints: [through] } },
  })
  const brokenFor =
    /^critical upstreams.risk 02:03:58 the circuit breaker of risk is \S+, so .*, because http:\S+ refuses connections \(ECONNREFUSED\)$/

  const late = { ...rejectedAt(at, 'http://c'), kind: 'headers-timeout', reason: null } as const
  const c = dead({ url: 'http://c', lastFailure: late })
  const d = dead({ url: 'https://d', lastFailure: expiredAt('https://d') })
  const all = 'critical upstreams.risk 02:03:58 no endpoint of risk serves since 02:03:58'
  const b = dead({ url: 'http://b', lastFailure: rejectedAt(at, 'http://b') })
  const long = dead({ succeededAt: at - 900_000, failingSince: at - 890_000 })
  const own = { ...trafficOf(asset, { passedOn: 40 }), ...riskOf(dead({ lastFailure: responded(503) })) }
  const ofMarket = { upstreams: { market: { endpoints: [dead()] } }, causes: [cause({ operation: 'market.insights' })] }
  const cached = { ...ofMarket, settings: { operations: { 'market.insights': { cache: {} } } } }
  const yesterday = dead({ succeededAt: null, failingSince: at - day })
  const drained = endpoint({ state: { name: 'draining', since: null, reason: null } })
  const both = { risk: { endpoints: [dead()] }, market: { endpoints: [dead({ failingSince: at - 1500 })] } }

  test.each<Row>([
    [
      'silent: an endpoint may be well again',
      silent(),
      `warning upstreams.risk 02:02:30 no endpoint of risk serves since 02:02:30; no request has been sent there since 02:02:50, the last 9 failed: ECONNREFUSED at ${risk}`,
    ],
    ['not silent where a breaker has it so', silent({}, 1), /^critical (?!.*no request)/],
    ['not silent where a request is under way', silent({ inFlight: 1 }), /^critical (?!.*no request)/],
    ['not silent where it is down', silent({ state: down('responded with 503').state }), /^critical (?!.*no request)/],
    ['behind an open breaker', throughBreaker('open'), brokenFor, /^notice /],
    ['behind a half-open breaker', throughBreaker('half-open'), brokenFor, /^notice /],
    ['served by one of two', riskOf(dead(), other), /^warning /],
    [
      'dead in several ways',
      riskOf(dead(), b, d, c),
      `${all}: ECONNREFUSED at ${risk}, http://b; CERT_HAS_EXPIRED at https://d; http://c did not respond within timeouts.headers (15s)`,
    ],
    ['dead since the last endpoint is', riskOf(long, b), /^critical upstreams.risk 02:03:58 /],
    ['down', riskOf(down('gone')), /^critical \S+ 02:04:00 no .* serves since 02:04:00: http:\S+ is down: gone$/],
    ['dead as one', { upstreams: both }, `${all.replace('of risk', 'of risk and market')}: ECONNREFUSED at ${risk}`],
    ['dead since another day', riskOf(yesterday), / since 2026-11-20T02:04:00Z: /],
    ['dead by its own errors', own, `${all}; every request to risk.asset-valuation fails: ${risk} responded with 503`],
    ['cached', cached, /; every request to market.insights that no cache serves fails: ECONNREFUSED at /],
    ['drained', riskOf(drained), /every endpoint of risk drains, or has weight 0, so every client gets 503$/],
  ])('is found as one that is %s', expectFindings)

  test('that fails as others do is also about them', () => {
    expect(found({ upstreams: both })).toMatchObject([{ about: 'upstreams.risk', alsoAbout: ['upstreams.market'] }])
  })

  const detailsOf = (...endpoints: readonly EndpointReport[]) => found(riskOf(...endpoints))[0]?.details

  test('of which an endpoint is down as its last request failed says that once', () => {
    const as = (reason: string) => dead({ state: { name: 'down', since: at - 100, reason } })

    const rejecting = as('the endpoint refuses connections (ECONNREFUSED) (in 1 of 2 workers)')
    const [first, second] = detailsOf(rejecting, as('responded with 503')) ?? []
    expect(first).not.toContain('the last failure')
    expect(second).toContain(`is down: responded with 503; the last failure: ${risk} refuses connections`)
  })

  test('of which an endpoint is down or ejected says how many have failed there in a row', () => {
    const state = { name: 'down', since: at - 100, reason: 'responded with 503' } as const
    const endpoints = [4, 0].map((failuresInARow) => dead({ url: `http://b${failuresInARow}`, state, failuresInARow }))

    const details = detailsOf(...endpoints)
    expect(details?.[0]).toMatch(/; no success since 4 failures; 9 of 40 requests/)
    expect(details?.[1]).not.toContain('no success since')
  })

  const ownError = { succeededAt: null, lastFailure: responded(503) } as const
  const ownCertificate = 'the endpoint itself shows that certificate'
  const nothingChanged = 'nothing has changed here since the last good response'
  const by = (reason: 'name-not-found' | 'unreachable') => ({ lastFailure: { ...rejectedAt(at - 80), reason } })

  test.each<[string, Partial<EndpointReport>, string | null]>([
    ['rejects, and responded before', {}, nothingChanged],
    ['rejects, and never responded', { succeededAt: null }, null],
    ['responds with an error of its own', ownError, 'the error is in the response itself'],
    ['shows an old certificate', { ...ownError, lastFailure: expiredAt() }, ownCertificate],
    ['has a name that is gone', by('name-not-found'), null],
    ['has no route to it', by('unreachable'), null],
    ['has failed, and is well', { failingSince: null }, null],
    ['has failed since an edit', { succeededAt: at - 60_001 }, null],
  ])('names the owner of an endpoint where the fault is known: one that %s', (_, more, how) => {
    const details = ownerDetails([dead(more)], { loadedAt: at - 60_000 })

    expect(details).toEqual(how === null ? [] : [`the owner of ${risk} must fix this: ${how}`])
  })

  test('names together the endpoints that are known in the same way to be for their owners to mend', () => {
    expect(ownerDetails([dead(), dead({ url: 'http://b' })], { loadedAt: 0 })).toEqual([
      `the owner of ${risk} and http://b must fix this: ${nothingChanged}`,
    ])
  })
})

describe('what clients do wrong', () => {
  const unmatched = (lastMinute: number, last15Min = lastMinute) => ({
    causes: [cause({ kind: 'not-found', reason: null, operation: null, endpoint: null, lastMinute, last15Min })],
  })
  const missing = { kind: 'bad-request', reason: 'no-proxy-header', operation: null, endpoint: null } as const
  const unasked = { causes: [cause({ ...missing, reason: 'proxy-header' })] }
  const from = (error: object, clientId: string | null) => ({ ...error, client: '10.0.0.7', clientId }) as RecentError
  const listen = { proxyProtocol: { from: ['10.0.0.1'] } }
  const tooOld = { kind: 'unauthenticated', reason: 'expired', endpoint: null } as const
  const expired = { causes: [cause(tooOld)] }
  const [bankA, bankB] = [from(tooOld, 'bank-a'), from(tooOld, 'bank-b')]

  test.each<Row>([
    ['nothing when it came once', unmatched(1)],
    ['nothing when it comes now and then', unmatched(2, 9)],
    ['noticed after three', unmatched(3), /^notice clients .*the path is not one of the nine: 3 .* with 404/],
    ['noticed when it came ten times', unmatched(0, 10), /^notice /],
    [
      'the fault of a load balancer',
      { causes: [cause(missing)], last: [from(missing, null)] },
      /^warning listen.proxyProtocol .*no PROXY protocol header came .* under listen.proxyProtocol.from: 12 .*, from 10.0.0.7$/,
    ],
    ['that fault, before', { causes: [cause({ ...missing, lastMinute: 0 })] }, /^notice /],
    ['a header where none is taken', unasked, /^notice clients .*proxyProtocol.from, which is off: 12/],
    ['a header from where none is', { ...unasked, settings: { listen } }, /proxyProtocol.from: 12 .* with 400/],
    ['one client', { ...expired, last: [bankA] }, /asset-valuation .*token has expired: 12 .* 401 .*, from bank-a$/],
    ['two clients', { ...expired, last: [bankA, bankB] }, /, from 2 clients, the last one bank-a$/],
  ])('is found as %s', expectFindings)
})

const limitKey = 'upstreams.risk.concurrency'
const concurrency = (inFlight: number) => ({
  report: { limits: { rate: null, concurrency: [{ key: limitKey, inFlight, limit: 3 }], eventLoop: null } },
})
const overloaded = (reason: 'upstream-concurrency' | 'buffered-bodies' | 'event-loop') =>
  cause({ kind: 'overloaded', reason, endpoint: null })
const rejectedByLimit = { causes: [overloaded('upstream-concurrency')] }
const twelveOf = (requests: number, ago: number) => ({
  ...{ ...concurrency(3), ...trafficOf(asset, { requests }) },
  causes: [{ ...overloaded('upstream-concurrency'), lastAt: at - ago }],
})
const rejected = (lastMinute: number) => ({
  report: { rejectedConnections: [{ setting: 'maxConnections', lastMinute, last15Min: 9, firstAt: at } as const] },
})
const lateLoop = (sheds: boolean) => {
  const eventLoop = { delayMs: 812.4, limitMs: 200, sheds, since: at, where: null }
  return { report: { limits: { rate: null, concurrency: [], eventLoop } }, causes: [overloaded('event-loop')] }
}
const lateProcess = (p99: number) => {
  const eventLoop = { activeSeconds: 1, idleSeconds: 1, delayMs: { p50: 1, p99, max: p99 } }
  const memory = { residentBytes: 1, externalBytes: 0, heap: { usedBytes: 1, totalBytes: 2, limitBytes: 100 } }
  const started = { pid: 1, startedAt: 1, uptimeSeconds: 1, cpuSeconds: { user: 0, system: 0 } }
  return { report: { runtimes: [{ process: 'worker-1', ...started, ...memory, eventLoop }] } }
}
const bodies = {
  causes: [overloaded('buffered-bodies'), { ...overloaded('buffered-bodies'), operation: 'valuation.score' as const }],
}
const tooLarge = (...operations: readonly OperationId[]) => ({
  settings: { operations: { 'inventory.sync': { maxBody: '1KiB' }, 'valuation.score': { maxBody: '2KiB' } } },
  causes: operations.map((operation) =>
    cause({ kind: 'content-too-large', reason: 'body-too-large-declared', endpoint: null, operation }),
  ),
})

describe('what is limited', () => {
  test.each<Row>([
    [
      'full',
      { ...concurrency(3), ...rejectedByLimit },
      `warning ${limitKey} 02:03:00 ${limitKey} is full: 12 requests were rejected in the last minute, 3 of 3 in flight now`,
    ],
    ['full no more', { ...concurrency(1), ...rejectedByLimit }, /\.concurrency was full: /],
    ['full once', rejectedByLimit, /\.concurrency was full: 12 requests were rejected in the last minute$/],
    ['a rejection of half of the requests', twelveOf(24, 0), /^critical upstreams.risk.concurrency /],
    ['a rejection of half of them, 15 s ago', twelveOf(24, 15_000), /^warning upstreams.risk.concurrency /],
    ['a rejection of less than half of them', twelveOf(25, 0), /^warning upstreams.risk.concurrency /],
    ['full without a rejection', concurrency(3), /^notice upstreams.risk.concurrency /],
    ['not full', concurrency(2)],
    ['no room for bodies', bodies, /^warning limits .*memory, of risk.asset-valuation and valuation.score: 24 /],
    [
      'full of connections',
      rejected(1),
      'warning listen.maxConnections 02:04:00 listen.maxConnections was reached: 1 connection was closed at once in the last minute; it is 10000 now',
    ],
    ['full of connections before', rejected(0), /^notice .*9 connections were closed at once in the last 15 minutes/],
    ['a late event loop', lateLoop(true), /^critical process .*812ms late, over limits.event.* \(200ms\), .*: 12 /],
    ['an event loop that was late', lateLoop(false), /^warning /],
    ['an event loop without a limit', lateProcess(600), /^warning .* of worker-1 is up to 600ms late: the process or/],
    ['an event loop in time', lateProcess(400)],
    ['a body too large', tooLarge('inventory.sync'), /larger than maxBody \(1KiB\): 12 .* with 413/],
    ['bodies too large', tooLarge('inventory.sync', 'valuation.score'), /larger than maxBody: 24 requests/],
  ])('is found as %s', expectFindings)
})

describe('Redis that cannot be used', () => {
  const gone = { state: 'local', since: at, reason: 'connect ECONNREFUSED 127.0.0.1:6379', where: null } as const
  const rate = { store: 'redis', server: 'redis-a:6379', evictions: 0, ...gone } as const
  const redis = { ...{ found: 0, rejected: 0, dropped: 0 }, server: 'redis-b:6379', ...gone }
  const limits = { rate, concurrency: [], eventLoop: null }
  const cache = { bytes: 0, maxBytes: 1, evictions: 0, redis, operations: [] }
  const byAddress = { address: { rate: '1/s' } }

  test.each<Row>([
    [
      'is named for what it is used for, with the reason',
      { settings: { limits: byAddress }, report: { limits, cache } },
      /Redis \(redis-a:6379\) cannot be used \(connect ECONNREFUSED 127.0.0.1:6379\): this gateway counts rates alone, so several gateways together let more through$/,
      /Redis \(redis-b:6379\) cannot be used \(connect ECONNREFUSED 127.0.0.1:6379\): this gateway uses only responses that it stored itself$/,
    ],
    ['is nothing where rates are in memory', { report: { limits: { ...limits, rate: { ...rate, store: 'memory' } } } }],
  ])('%s', expectFindings)

  test.each([
    ['reject', 'critical', 'requests with a DPoP proof are rejected (auth.dpop.withoutRedis: reject)'],
    ['serve', 'warning', 'a DPoP proof can be used once at each gateway (auth.dpop.withoutRedis: serve)'],
  ])('has proofs decided about (%s): %s', (withoutRedis, severity, proofs) => {
    const bound = tokenBindingSettings(signingKey('ES256', 'issuer'), { dpop: { withoutRedis } })
    const said = (more: object) =>
      lines({ settings: { ...bound, limits: { redis: { url: 'redis://redis' }, ...more } }, report: { limits } })
    const sentence = `${severity} redis 02:04:00 Redis (redis-a:6379) cannot be used (${gone.reason}): ${proofs}`

    expect([...said({}), ...said(byAddress)]).toEqual([
      sentence,
      `${sentence}, and this gateway counts rates alone, so several gateways together let more through`,
    ])
  })
})

const problem = {
  file: 'gateway.yaml',
  ...{ line: 12, column: 9, path: 'upstreams.market' },
  ...{ message: 'not a URL', expected: 'a URL', found: '"market-b"' },
}

describe('an edit', () => {
  const restart = ['until the file is corrected, a restart fails']

  test('that was rejected is named with the place and the problem', () => {
    expect(found(edit({ at: at + 5000, problems: [problem, problem] }))).toEqual([
      {
        ...{ severity: 'warning', about: 'config', alsoAbout: [], details: restart },
        cause:
          'an edit of gateway.yaml was rejected, and the running configuration stays in effect: gateway.yaml:12:9 upstreams.market: not a URL, and 1 more',
        ...{ since: '2026-11-21T02:04:00.000Z', command: 'lender-gateway check gateway.yaml' },
      },
    ])
  })

  const notApplied = applyFailedProblem('gateway.yaml', new Error('audit.file audit.log cannot be used: EACCES'))
  const ofRollback = { trigger: 'rollback', problems: [{ ...problem, path: '' }], isFileSound: true } as const
  const noRollback = edit(ofRollback, { differing: [] })
  const rolledBack = edit({}, { rolledBack: true })

  test.each<Row>([
    ['names its files', edit({}, { differing: ['contract.yaml', 'b.yaml'] }), / of contract.yaml and b.yaml was /],
    [
      'is held back',
      edit({ problems: [problem] }, { nextTryAt: at + 20_000 }),
      / is held back, and the running configuration/,
    ],
    [
      'never ran where a rollback came after it',
      { ...rolledBack, loadedAt: at + 1 },
      /rejected, and never took effect$/,
    ],
    [
      'ran on before that',
      { ...rolledBack, loadedAt: at - 1 },
      /was rejected, and the running configuration stays in effect$/,
    ],
    ['could not be applied', edit({ problems: [notApplied] }), /not be applied: audit\.file audit\.log .*: EACCES$/],
    ['is none where a rollback was rejected', noRollback, /a rollback was rejected, .*: gateway.yaml:12:9: not a URL$/],
  ])('%s', expectFindings)

  test.each([
    ['rejected though its file is sound', edit({ isFileSound: true }), 'reload'],
    ['held back', edit({ isFileSound: true }, { nextTryAt: at + 1 }), tryIt],
    ['no reply of a worker', edit({ isFileSound: true, areWorkersSilent: true }, { nextTryAt: at + 1 }), 'reload'],
    ['none, but a rollback', noRollback, 'rollback'],
  ])('that is %s leads to a command', (_, inputs, command) => {
    expect(found(inputs)).toMatchObject([{ about: 'config', command: `lender-gateway ${command}` }])
  })

  test('that a restart fails by says so after a rollback as well', () => {
    expect([1, -1].map((ms) => found({ ...rolledBack, loadedAt: at + ms })[0]?.details)).toEqual([restart, restart])
  })
})

describe('the audit log', () => {
  const file = '/var/log/audit.log'
  const withAudit = (state: Partial<AuditWriterState>) => {
    const written = {
      ...{ file, chain: '', count: 1, hash: '', reason: null, since: at, waitingBytes: 0, lost: 0, disk: null },
    }
    return { parts: { audit: { state: { ...written, ...state } }, workers: { states: [] } } as object as PrimaryParts }
  }
  const reason = 'ENOSPC: no space left on device'
  const unwritten = cause({ kind: 'audit-unavailable', reason: null, endpoint: null })
  const disk = { freeBytes: 1.5 * 1024 ** 3, sizeBytes: 20 * 1024 ** 3, fullInSeconds: 26_220, low: true }
  const key = `file:${folderWith({ key: 'k'.repeat(32) })}/key`
  const onFailure = (what: string) => ({ settings: { audit: { file, key, onFailure: what } } })

  test.each<Row>([
    ['not written', withAudit({ reason }), /^critical audit .*audit.log: ENOSPC: no space left/],
    ['waiting', { ...withAudit({ reason }), causes: [unwritten] }, /^critical .*wait in memory while there is room$/],
    [
      'full soon',
      { ...withAudit({ disk }), ...onFailure('reject') },
      /^warning audit .*the disk of the audit log \S+audit.log has 1.5 GiB free of 20.0 GiB, and at the pace of the last hour it is full in 7 h 17 min: requests are rejected when it is full \(audit.onFailure: reject\)$/,
    ],
    [
      'nearly full',
      { ...withAudit({ disk: { ...disk, fullInSeconds: null } }), ...onFailure('continue') },
      / of 20.0 GiB: lines wait in memory when it is full, up to 16 MiB, and are then lost \(audit.onFailure: continue\)$/,
    ],
    ['not full', withAudit({ disk: { ...disk, low: false } })],
    ['not written, and nearly full', withAudit({ reason, disk }), /^critical /],
    ['incomplete', withAudit({ lost: 1 }), /^notice .*the audit log lacks 1 line, and says where$/],
    ['complete', withAudit({})],
  ])('is found as one that is %s', expectFindings)

  test.each([
    // A disk without inodes says the same.
    [{ reason }, 'df -h /var/log; df -i /var/log'],
    [{ disk }, 'df -h /var/log'],
  ])('leads to what shows its disk', (state, command) => {
    expect(found(withAudit(state))).toMatchObject([{ command }])
  })
})

describe('what an operator has ended for a while', () => {
  const none = { get: () => null, all: [] }
  const until = 'until 2026-11-21T02:05:00.000Z'
  const overridden = (what: 'operations' | 'endpoints', state: 'drain' | 'reject', ...keys: readonly string[]) => {
    const override = { state, by: 'anna', reason: null, since: at, until: at + 60_000, endsAt: 60_000 } as const
    const view = { get: (key: string) => (keys.includes(key) ? override : null), all: [] }
    return found({ overrides: { operations: none, endpoints: none, learning: none, shifts: none, [what]: view } })
  }

  test('is an endpoint: a notice, with what ends that, unless an edit has taken it out', () => {
    expect(overridden('endpoints', 'drain', `risk ${risk}`, 'risk http://taken-out:8080')).toMatchObject([
      {
        ...{ severity: 'notice', about: 'upstreams.risk', command: `lender-gateway endpoint ready risk ${risk}` },
        cause: `anna drains ${risk} ${until}: it gets no new requests`,
      },
    ])
  })

  test('is an operation: a warning, with the end of that', () => {
    expect(overridden('operations', 'reject', 'inventory.sync')).toMatchObject([
      { severity: 'warning', about: 'operations.inventory.sync', cause: `anna rejects every request ${until}` },
    ])
  })
})

describe('an operation whose upstream responds with errors of its own', () => {
  const passedOn = (count: number, ago: number): Inputs => ({
    ...trafficOf(asset, { passedOn: count }),
    ...riskOf(endpoint({ lastFailure: responded(503, at - ago) })),
  })
  const its = 'operations.risk.asset-valuation its upstream'
  const words = `5xx of its own (${risk} responded with 503 last): 30 of 40 requests in the last minute`

  test.each<Row>([
    ['critical', passedOn(30, 1000), `critical ${its} responds with ${words}`, /^notice /],
    // What is counted as of the last minute may be older by one sample.
    ['over', passedOn(30, 61_000), `warning ${its} responded with ${words}, none since 02:02:59`],
    ['few', trafficOf(asset, { passedOn: 4 }), /^warning /],
    ['fewer', trafficOf(asset, { passedOn: 2 })],
  ])('is found as %s', expectFindings)
})

describe('an operation whose cache responds with a stored error', () => {
  const id = 'market.insights'
  const stored = { status: 503, sentAt: at - 240_000, freshUntil: at + 60_000, servedAt: at - 1000 }
  const cached = (storedErrors: number, error: Partial<typeof stored> = {}, settings: object = {}): Inputs => {
    const lastError = { ...stored, ...error }
    const operations = [{ operation: id, bytes: 0, entries: 1, ...zeroCacheOutcomes, lastError }] as const
    return {
      settings: { operations: { [id]: { cache: true } }, ...settings },
      ...trafficOf(id, { storedErrors }),
      report: { cache: { bytes: 0, maxBytes: 0, evictions: 0, redis: null, operations } },
    }
  }

  test.each<Row>([
    [
      'critical, and no fault of its upstream',
      cached(38),
      'critical operations.market.insights 02:00:00 the cache responds with a stored 503, which the upstream sent at 02:00:00 and which is fresh until 02:05:00: 38 of 40 requests in the last minute',
    ],
    ['for few requests', cached(1), /^warning /],
    ['over', cached(38, { servedAt: at - 20_000 }), /^notice .* responded with a stored 503, .*, none since 02:03:40$/],
    ['for no request', cached(0)],
    ['validated', cached(1, { freshUntil: stored.sentAt }), /sent at 02:00:00 and which it has confirmed by 304:/],
  ])('is found as %s', expectFindings)

  test('is to be cleared, on each gateway where Redis is shared', () => {
    const shared = { cache: { redis: { url: 'redis://redis' } } }
    const command = 'lender-gateway cache clear market.insights'

    expect([...found(cached(38)), ...found(cached(1, {}, shared))]).toMatchObject([
      { command, details: [] },
      { command, details: ['each gateway has its own memory: run the command on each of them'] },
    ])
  })
})

test.each<[string, Inputs, string]>([
  ['clients', { causes: [cause({ kind: 'unauthenticated', endpoint: null })] }, 'tail --rejected --since 15m'],
  ['bodies', { causes: [overloaded('buffered-bodies')] }, 'tail --rejected --since 15m'],
  ['a full limit', { ...concurrency(3), ...rejectedByLimit }, explain],
])('a command shows what is wrong with %s', (_, inputs, command) => {
  expect(found(inputs)).toMatchObject([{ command: `lender-gateway ${command}` }])
})

test.each([
  [2, 'it responded with 500: the keys fetched earlier (2) stay in use'],
  [0, 'it responded with 500: no token can be verified'],
])('keys of the issuer of operators that cannot be fetched, with %d known, are a warning', (keys, words) => {
  const state = { source: 'url', keys, error: 'it responded with 500', since: at - 60_000, lastSuccess: null } as const

  expect(found({ operatorKeys: state })).toMatchObject([
    {
      ...{ severity: 'warning', about: 'admin.jwt', command: `lender-gateway ${tryIt}` },
      cause: `the keys of the issuer of operators (admin.jwt.jwks) cannot be fetched: ${words}`,
    },
  ])
  expect(found({ operatorKeys: { ...state, error: null } })).toEqual([])
})
