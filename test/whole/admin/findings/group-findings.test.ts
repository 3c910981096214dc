import { describe, expect, test } from 'vitest'
import { ownerDetails } from '../../../../src/core/admin/findings/failure-phrases.ts'
import type { EndpointReport } from '../../../../src/core/runtime/status/endpoint.ts'
import { at, cause, endpoint, risk } from '../../../core/admin/findings/finding-inputs.ts'
import {
  asset,
  day,
  down,
  expectFindings,
  expiredAt,
  failing,
  found,
  type Inputs,
  lines,
  other,
  type Row,
  rejectedAt,
  responded,
  riskOf,
  trafficOf,
  tryIt,
} from './helper.ts'

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
