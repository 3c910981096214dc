/** What is said of a candidate. Without a share it costs no request, so nothing of it is critical. */

import { beforeEach, describe, expect, test } from 'vitest'
import type { AttemptReport } from '../../../src/core/exchange/failures/errors.ts'
import type { FailureKind } from '../../../src/core/exchange/failures/failure-table.ts'
import type { EndpointReport } from '../../../src/core/runtime/status/endpoint.ts'
import {
  type ComparisonCounts,
  createComparisonCounts,
} from '../../../src/features/candidate/observe/comparison-counts.ts'
import type { ShiftState } from '../../../src/features/candidate/shift/shift-state.ts'
import type { CandidateReport } from '../../../src/features/candidate/status/candidate-status.ts'
import { byOperation, type Group } from '../../../src/operations.ts'
import { at, cause, endpoint, findingInputs, renderFindings, risk } from '../../core/admin/findings/finding-inputs.ts'
import { moveClock } from '../../helpers/odd-clocks.ts'
import { answer } from './observe/compare/answer.ts'

const next = 'http://risk-next:8080'
const since = at - 60_000

const settings = {
  upstreams: { risk: { endpoints: [risk], candidate: { endpoints: [next], timeouts: { headers: '1s' } } } },
}

const candidate = (more: Partial<CandidateReport> = {}): CandidateReport => ({
  balance: 'p2c',
  breaker: null,
  shadow: null,
  comparison: null,
  endpoints: [endpoint({ url: next })],
  ...more,
})

/** Collects findings about a candidate with these endpoints, beside a primary that is well. */
const found = (endpoints: readonly Partial<EndpointReport>[], more: Partial<CandidateReport> = {}) =>
  renderFindings(
    findingInputs({
      settings,
      upstreams: {
        risk: {
          candidate: candidate({ endpoints: endpoints.map((each) => endpoint({ url: next, ...each })), ...more }),
        },
      },
    }),
  ).map(({ severity, about, cause }) => [severity, about, cause])

const down = { state: { name: 'down', since, reason: 'answered 503, 200-299 is expected' }, succeededAt: null } as const
const about = 'upstreams.risk.candidate'

const halfOpen = {
  ...({ state: 'half-open', since, where: null, outageSince: since, lastFailure: null, openForMs: null } as const),
}
const certificate = { address: '10.0.0.1', notAfter: since, warnFrom: since, seenAt: since }
const refusing = (clientErrors: number) => ({ recentResponses: { requests: 100, clientErrors } })
const draining = { state: { name: 'draining', since: null, reason: null } } as const

test.each<[string, readonly Partial<EndpointReport>[], string | null, string, Partial<CandidateReport>?]>([
  ['one that is well has no finding', [{}], null, ''],
  [
    'one of which no endpoint serves is a warning, with since when and why',
    [down],
    'warning',
    `no endpoint of the candidate of risk serves since 02:03:00: ${next} is down: answered 503, 200-299 is expected`,
  ],
  ['so is one of several that is down', [down, { url: `${next}1` }], 'warning', `${next}: it is down`],
  ['one that drains is a notice', [draining], 'notice', 'every endpoint of the candidate of risk drains'],
  [
    'its breaker is a warning of its own',
    [{}],
    'warning',
    'the circuit breaker of the candidate of risk is half-open',
    { breaker: halfOpen },
  ],
  [
    'an expired certificate is a warning, though the gateway verifies it',
    [{ certificates: [certificate] }],
    'warning',
    `the certificate of ${next} has expired`,
  ],
  [
    'an endpoint that answers more with a 4xx is compared with the others of the candidate',
    [refusing(96), { url: `${next}1`, ...refusing(2) }],
    'warning',
    'with a 4xx, the other endpoints of the candidate of risk 2 % (',
  ],
  ['it is slow by its own timeouts', [{ latencyMs: 600 }], 'warning', 'is given up after 1s (timeouts.headers)'],
])('%s', (_, endpoints, severity, text, more) => {
  expect(found(endpoints, more)).toEqual(severity === null ? [] : [[severity, about, expect.stringContaining(text)]])
})

describe('an endpoint on both sides', () => {
  test('is judged on each by what happened there', () => {
    const findings = renderFindings(
      findingInputs({
        settings,
        upstreams: { risk: { candidate: candidate({ endpoints: [endpoint()] }) } },
        causes: [cause()],
      }),
    )

    expect(findings.map((each) => each.about)).toEqual(['upstreams.risk'])
  })
})

test('an outage of the primary is told as before, whatever its candidate does', () => {
  const inputs = findingInputs({
    settings,
    upstreams: { risk: { endpoints: [endpoint(down)], candidate: candidate() } },
  })

  expect(renderFindings(inputs)).toMatchObject([{ severity: 'critical', about: 'upstreams.risk' }])
})

const use = (own: object) => ({
  upstreams: { risk: { endpoints: [risk], candidate: { endpoints: [next], share: '5%', ...own } } },
})

describe('with clients on it', () => {
  const outage = { candidate: candidate({ endpoints: [endpoint({ url: next, ...down })] }) }

  test('an outage is a warning where the primary serves its clients', () => {
    expect(renderFindings(findingInputs({ settings: use({}), upstreams: { risk: outage } }))).toMatchObject([
      {
        severity: 'warning',
        about,
        cause: expect.stringContaining('serves since 02:03:00, so the primary serves its clients: '),
      },
    ])
  })

  test('and critical where their requests fail', () => {
    const settings = use({ fallback: false })

    expect(renderFindings(findingInputs({ settings, upstreams: { risk: outage } }))).toMatchObject([
      { severity: 'critical', cause: expect.stringContaining(', so requests of its clients fail: ') },
    ])
  })

  describe('and endpoints that still get requests', () => {
    const failure = (kind: FailureKind | null, status: number | null) =>
      ({ at, endpoint: next, kind, reason: null, status }) as const
    const tellFailing = (group: Group, last: AttemptReport, own: object) => {
      const state = { name: 'failing', since, reason: 'no success since 5 failures' } as const
      const failing = endpoint({ url: next, state, failingSince: since, lastFailure: last, succeededAt: null })
      const inputs = findingInputs({
        settings: {
          upstreams: { [group]: { endpoints: [risk], candidate: { endpoints: [next], share: '100%' }, ...own } },
        },
        upstreams: { [group]: { candidate: candidate({ endpoints: [failing] }) } },
      })
      return renderFindings(inputs).map(({ severity, cause, command }) => [severity, cause.split(': ')[0], command])
    }

    test('what they answer is critical, and an abort ends it', () => {
      expect(tellFailing('market', failure(null, 500), { retry: {} })).toEqual([
        [
          'critical',
          'no endpoint of the candidate of market serves since 02:03:00, so its clients get these responses',
          'lender-gateway shift market --abort',
        ],
      ])
    })

    test.each([
      ['a status that retry.on has', 'market', failure(null, 503), { retry: {} }, 'warning'],
      ['the same without retry', 'market', failure(null, 503), {}, 'critical'],
      ['the same of a POST, which may have been processed', 'risk', failure(null, 503), { retry: {} }, 'critical'],
      [
        'a timeout, which retry.on does not have by default',
        'market',
        failure('headers-timeout', null),
        { retry: {} },
        'critical',
      ],
      ['what was never sent, also without retry', 'risk', failure('connect-failed', null), {}, 'warning'],
    ] as const)('the primary covers only what goes on to it: %s', (_, group, last, own, severity) => {
      expect(tellFailing(group, last, own)).toMatchObject([[severity, expect.any(String), expect.any(String)]])
    })
  })

  test('a share that is too small for one bucket of clients is none', () => {
    const settings = use({ fallback: false, share: '0.001%' })

    expect(renderFindings(findingInputs({ settings, upstreams: { risk: outage } }))).toMatchObject([
      { severity: 'warning', cause: expect.not.stringContaining('clients') },
    ])
  })

  test('and a warning again when it was taken back', () => {
    const stopped = { share: 0, isStopped: true } as ShiftState
    const inputs = findingInputs({ settings: use({ fallback: false }), upstreams: { risk: outage } })
    const overrides = { ...inputs.overrides, shifts: { get: () => stopped, all: [] } }

    expect(renderFindings({ ...inputs, overrides })).toMatchObject([{ severity: 'warning' }])
  })

  test.each([
    [
      'guard',
      '41 % of 312 requests failed',
      'the candidate of risk was taken back at 02:03:00: 41 % of 312 requests failed',
    ],
    [
      'redis',
      'no answer within 1000ms',
      'the candidate of risk gets nothing since 02:03:00, until Redis says what was said of it before: no answer within 1000ms',
    ],
  ] as const)('what no operator has stopped is a warning that says why: %s', (stopCause, reason, text) => {
    const shift = { share: 0, isStopped: true, cause: stopCause, since, reason } as ShiftState
    const inputs = findingInputs({ settings: use({}), upstreams: { risk: { candidate: candidate() } } })
    const overrides = { ...inputs.overrides, shifts: { get: () => shift, all: [] } }

    expect(renderFindings({ ...inputs, overrides })).toEqual([
      {
        severity: 'warning',
        about,
        cause: text,
        alsoAbout: [],
        details: [],
        since: expect.any(String),
        command: expect.stringMatching(/shift risk/),
      },
    ])
  })

  test('requests that fail there again and again are critical, and no finding of the primary', () => {
    const failing = endpoint({ url: next, failingSince: since })
    const inputs = {
      settings: use({}),
      upstreams: { risk: { candidate: candidate({ endpoints: [failing, endpoint({ url: `${next}1` })] }) } },
      causes: [cause({ endpoint: next, kind: 'reset-before-headers', reason: 'reset' })],
    } as const

    expect(renderFindings(findingInputs(inputs))).toMatchObject([
      { severity: 'critical', about, cause: expect.stringContaining('12 requests failed in the last minute') },
    ])
  })
})

describe('with clients on it, an outage of the primary', () => {
  const answered = (url: string, status: number) => ({ at, endpoint: url, kind: null, reason: null, status }) as const
  const out = endpoint({ state: { name: 'failing', since, reason: 'refused' }, lastFailure: answered(risk, 503) })
  const failing = endpoint({ url: next, lastFailure: answered(next, 500) })
  const traffic = { requests: 40, passedOn: 30, storedErrors: 0 }
  const recent = byOperation(({ group }) =>
    group === 'risk' ? traffic : { requests: 0, passedOn: 0, storedErrors: 0 },
  )

  const told = (own: object, endpoints: readonly EndpointReport[]) =>
    renderFindings(
      findingInputs({
        settings: use(own),
        upstreams: { risk: { endpoints: [out], candidate: candidate({ endpoints }) } },
        recent,
      }),
    )
      .filter((each) => each.severity !== 'notice')
      .map(({ severity, about, cause }) => [severity, about, cause])

  test('fails requests of the others alone', () => {
    expect(told({ share: '50%' }, [endpoint({ url: next })])).toEqual([
      [
        'critical',
        'upstreams.risk',
        `no endpoint of risk serves since 02:03:00; requests to risk.asset-valuation fail, but for clients that are on the candidate: ${risk} answered 503`,
      ],
    ])
  })

  test('fails none where every client is on the candidate', () => {
    expect(told({ share: '100%' }, [endpoint({ url: next })])).toEqual([
      [
        'warning',
        'upstreams.risk',
        `no endpoint of risk serves since 02:03:00; every client is on the candidate, which has no primary to fall back on: ${risk} answered 503`,
      ],
    ])
  })

  test('hides no error that the candidate passes on', () => {
    expect(told({ share: '100%' }, [failing])).toContainEqual([
      'critical',
      'operations.risk.asset-valuation',
      `its upstream answers with 5xx of its own (${next} answered 500 last): 30 of 40 requests in the last minute`,
    ])
  })

  test('leaves nothing to fall back on when the candidate is down too', () => {
    expect(told({ share: '100%' }, [endpoint({ url: next, ...down })])).toContainEqual([
      'critical',
      about,
      expect.stringContaining('so requests of its clients fail'),
    ])
  })

  test.each([
    ['50%', 'critical', 'so nobody answers clients that are not on the candidate'],
    ['100%', 'warning', 'and every client is on the candidate'],
  ])('whose endpoints all drain is no outage for clients on the candidate: %s', (share, severity, consequence) => {
    const draining = endpoint({ state: { name: 'draining', since: null, reason: null } })
    const upstreams = { risk: { endpoints: [draining], candidate: candidate() } }

    expect(renderFindings(findingInputs({ settings: use({ share }), upstreams }))).toMatchObject([
      { severity, cause: `every endpoint of risk drains, or has weight 0, ${consequence}` },
    ])
  })

  test('is no fault of a candidate without clients', () => {
    expect(told({ share: '0%' }, [failing])).toEqual([
      ['critical', 'upstreams.risk', expect.stringContaining('every request to risk.asset-valuation fails')],
    ])
  })
})

test('an error that the candidate passes on is named by its endpoint beside a primary that is well', () => {
  const last = { at, endpoint: next, kind: null, reason: null, status: 500 } as const
  const inputs = findingInputs({
    settings: use({ share: '50%' }),
    upstreams: { risk: { candidate: candidate({ endpoints: [endpoint({ url: next, lastFailure: last })] }) } },
    recent: byOperation(({ group }) => ({ requests: 40, passedOn: group === 'risk' ? 10 : 0, storedErrors: 0 })),
  })

  expect(renderFindings(inputs)).toContainEqual(
    expect.objectContaining({
      about: 'operations.risk.asset-valuation',
      cause: expect.stringContaining(`(${next} answered 500 last)`),
    }),
  )
})

describe('answers that differ', () => {
  let pass: (ms: number) => void
  beforeEach(() => {
    pass = moveClock(Date, Date.parse('2026-11-23T10:04:00Z'))
  })

  const createCounts = (): ComparisonCounts =>
    createComparisonCounts(
      'digest',
      { fields: [], ignore: [], numbers: null, arrays: {}, maxBody: 1024, noise: false, examples: true },
      'key',
    )

  const toAnswer = (body: unknown) => ({
    ...answer(JSON.stringify(body)),
    headMs: 1,
  })

  const compare = (counts: ComparisonCounts, equal: number, differing: number, name = 'grade'): void => {
    const request = { operation: 'market.insights', requestId: 'what-a-client-wrote' } as const
    for (let n = 0; n < equal; n++) counts.onPair(toAnswer({ n }), toAnswer({ n }), request)
    for (let n = 0; n < differing; n++)
      counts.onPair(toAnswer({ [name]: 'Jane' }), toAnswer({ [name]: 'Joe' }), request)
  }

  const findingsOf = (counts: ComparisonCounts, compareKeys: object = {}) =>
    renderFindings(
      findingInputs({
        at: Date.now(),
        settings: {
          upstreams: {
            market: {
              endpoints: ['http://market-a'],
              candidate: { endpoints: ['http://market-next'], shadow: { compare: compareKeys } },
            },
          },
        },
        upstreams: {
          market: {
            candidate: {
              ...{ balance: 'p2c', breaker: null, shadow: null, comparison: counts.report },
              endpoints: [endpoint({ url: 'http://market-next' })],
            },
          },
        },
      }),
    )

  test('too few equal answers are a warning, with what differs and without values', () => {
    const counts = createCounts()
    compare(counts, 19, 1)

    expect(findingsOf(counts)).toEqual([
      {
        severity: 'warning',
        about: 'upstreams.market.candidate',
        cause:
          '5 % of the answers of the candidate differ from those of the primary (1 of 20 compared in the last 5 minutes): market.insights /grade differs in 1',
        alsoAbout: [],
        details: [],
        since: '2026-11-23T10:04:00.000Z',
        command: 'lender-gateway shift report market',
      },
    ])
  })

  test('as many as the file asks for are none', () => {
    const counts = createCounts()
    compare(counts, 99, 1)

    expect(findingsOf(counts)).toEqual([])
    expect(findingsOf(counts, { minEqual: '99.5%' })).toHaveLength(1)
    expect(findingsOf(counts, { minEqual: '100%' })).toHaveLength(1)
    expect(findingsOf(counts, { minEqual: 'none' })).toEqual([])
  })

  test('a few answers are none', () => {
    const counts = createCounts()
    compare(counts, 0, 19)

    expect(findingsOf(counts)).toEqual([])
  })

  test('a candidate that was mended is none any more after five minutes', () => {
    const counts = createCounts()
    compare(counts, 0, 100)
    pass(310_000)
    compare(counts, 30, 0)

    expect(findingsOf(counts)).toEqual([])
  })

  test('when the table is full, further ways are many, and places may be unknown', () => {
    const counts = createCounts()
    for (let n = 0; n < 201; n++)
      compare(counts, 0, 1, `m${String.fromCharCode(97 + (n % 26), 97 + Math.floor(n / 26))}`)
    const full = findingsOf(counts)[0]?.cause
    pass(310_000)
    compare(counts, 0, 20, 'grade')

    expect(full).toMatch(/ in 1, and there are many more ways$/)
    expect(findingsOf(counts)[0]?.cause).toMatch(
      / in the last 5 minutes\): where is not known, since the table is full$/,
    )
  })

  test('three places are named', () => {
    const counts = createCounts()
    for (const name of ['a', 'b', 'c', 'd', 'e']) compare(counts, 0, 10, name)

    expect(findingsOf(counts)[0]?.cause).toMatch(/\/c differs in 10, and there are 2 more ways$/)
  })
})
