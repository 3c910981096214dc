/** What is said of a candidate. Without a share it costs no request, so nothing of it is critical. */

import { beforeEach, describe, expect, test } from 'vitest'
import type { FailureKind } from '../../../src/core/exchange/failures/failure-table.ts'
import type { EndpointReport } from '../../../src/core/runtime/status/endpoint.ts'
import type { UpstreamReport } from '../../../src/core/runtime/status/upstreams.ts'
import type { ComparisonCounts } from '../../../src/features/candidate/observe/comparison-counts.ts'
import type { ShiftState } from '../../../src/features/candidate/shift/shift-state.ts'
import type { CandidateReport } from '../../../src/features/candidate/status/candidate-status.ts'
import { byOperation, type Group } from '../../../src/operations.ts'
import { at, cause, endpoint, findingInputs, renderFindings, risk } from '../../core/admin/findings/finding-inputs.ts'
import { moveClock } from '../../helpers/odd-clocks.ts'
import { createCounts, shadowResponse } from './observe/compare/response.ts'

const next = 'http://risk-next:8080'
const since = at - 60_000
const about = 'upstreams.risk.candidate'

/** Makes the settings of a group with a candidate, which has these keys of its own. */
const use = (own: object = {}, group: Group = 'risk', ofGroup: object = {}) => ({
  upstreams: { [group]: { endpoints: [risk], candidate: { endpoints: [next], ...own }, ...ofGroup } },
})

/** Reports a candidate with endpoints that are as others but for these words. */
const candidate = (
  endpoints: readonly Partial<EndpointReport>[] = [{}],
  more: Partial<CandidateReport> = {},
): CandidateReport => ({
  ...{ balance: 'p2c', breaker: null, shadow: null, comparison: null },
  endpoints: endpoints.map((each) => endpoint({ url: next, ...each })),
  ...more,
})

type Inputs = NonNullable<Parameters<typeof findingInputs>[0]>

/** Collects findings about `risk`, whose candidate has keys of its own. */
const found = (own: object, side: Partial<UpstreamReport>, more: Partial<Inputs> = {}) =>
  renderFindings(findingInputs({ settings: use(own), upstreams: { risk: side }, ...more }))

const columns = ({ severity, about, cause }: ReturnType<typeof renderFindings>[number]) => [severity, about, cause]

const down = {
  state: { name: 'down', since, reason: 'responded with 503, 200-299 is expected' },
  succeededAt: null,
} as const
const draining = { state: { name: 'draining', since: null, reason: null } } as const
const noFailure = { lastFailure: null, openForMs: null }
const halfOpen = { state: 'half-open', since, where: null, outageSince: since, ...noFailure } as const
const certificate = { address: '10.0.0.1', notAfter: since, warnFrom: since, seenAt: since }
const rejecting = (clientErrors: number) => ({ recentResponses: { requests: 100, clientErrors } })
const noneServes = `no endpoint of the candidate of risk serves since 02:03:00: ${next} is down: responded with 503, 200-299 is expected`

test.each<[string, readonly Partial<EndpointReport>[], string, string, Partial<CandidateReport>?]>([
  ['one of which no endpoint serves is a warning, with since when and why', [down], 'warning', noneServes],
  ['so is one of several that is down', [down, { url: `${next}1` }], 'warning', `${next}: it is down`],
  ['one that drains is a notice', [draining], 'notice', 'every endpoint of the candidate of risk drains'],
  ['its breaker is a warning of its own', [{}], 'warning', 'candidate of risk is half-open', { breaker: halfOpen }],
  [
    'an expired certificate is a warning, though the gateway verifies it',
    [{ certificates: [certificate] }],
    ...(['warning', `the certificate of ${next} has expired`] as const),
  ],
  [
    'an endpoint that responds more often with a 4xx is compared with the others of the candidate',
    [rejecting(96), { url: `${next}1`, ...rejecting(2) }],
    ...(['warning', 'with a 4xx, the other endpoints of the candidate of risk to 2 % ('] as const),
  ],
  ['it is slow by its own timeouts', [{ latencyMs: 600 }], 'warning', 'is given up after 1s (timeouts.headers)'],
])('%s', (_, endpoints, severity, text, more) => {
  const findings = found({ timeouts: { headers: '1s' } }, { candidate: candidate(endpoints, more) })

  expect(findings.map(columns)).toEqual([[severity, about, expect.stringContaining(text)]])
})

test('a healthy candidate has no finding, and an endpoint on both sides is judged for each side', () => {
  expect(found({}, { candidate: candidate() })).toEqual([])
  const shared = found({}, { candidate: candidate([{ url: risk }]) }, { causes: [cause()] })
  expect(shared.map((each) => each.about)).toEqual(['upstreams.risk'])
})

test('an outage of the primary has the same finding whatever its candidate does', () => {
  const side = { endpoints: [endpoint(down)], candidate: candidate() }

  expect(found({}, side)).toMatchObject([{ severity: 'critical', about: 'upstreams.risk' }])
})

describe('with clients on it', () => {
  const outage = { candidate: candidate([down]) }

  test.each([
    ['a warning where the primary serves its clients', { share: '5%' }, 'warning', ', so the primary serves its'],
    ['critical where requests fail', { share: '5%', fallback: false }, 'critical', ', so requests of its clients fail'],
    ['a warning with less than one bucket', { share: '0.001%', fallback: false }, 'warning', 'since 02:03:00: '],
  ])('an outage is %s', (_, own, severity, text) => {
    expect(found(own, outage).map(columns)).toEqual([[severity, about, expect.stringContaining(text)]])
  })

  describe('and endpoints that still get requests', () => {
    const failure = (kind: FailureKind | null, status: number | null) =>
      ({ at, endpoint: next, kind, reason: null, status }) as const
    const retry = { retry: {} }
    const tellFailing = (group: Group, lastFailure: ReturnType<typeof failure>, own: object) => {
      const state = { name: 'failing', since, reason: '5 failures in a row' } as const
      const failing = candidate([{ state, failingSince: since, lastFailure, succeededAt: null }])
      const settings = use({ share: '100%' }, group, own)
      return renderFindings(findingInputs({ settings, upstreams: { [group]: { candidate: failing } } }))
    }

    test('5xx responses of the candidate to its clients are critical, and an abort ends the finding', () => {
      const text = 'no endpoint of the candidate of market serves since 02:03:00, so its clients get these responses: '

      expect(tellFailing('market', failure(null, 500), retry)).toMatchObject([
        { severity: 'critical', cause: expect.stringContaining(text), command: 'lender-gateway shift market --abort' },
      ])
    })

    test.each([
      ['a status that retry.on has', 'market', failure(null, 503), retry, 'warning'],
      ['the same without retry', 'market', failure(null, 503), {}, 'critical'],
      ['the same of a POST, which may have been processed', 'risk', failure(null, 503), retry, 'critical'],
      ['a timeout, which retry.on has not by default', 'market', failure('headers-timeout', null), retry, 'critical'],
      ['what was never sent, also without retry', 'risk', failure('connect-failed', null), {}, 'warning'],
    ] as const)('the primary covers only requests that fall back: %s', (_, group, last, own, severity) => {
      expect(tellFailing(group, last, own)).toMatchObject([{ severity }])
    })
  })

  const stopped = (state: Partial<ShiftState>) => {
    const get = () => ({ share: 0, isStopped: true, ...state }) as ShiftState
    return { overrides: { ...findingInputs().overrides, shifts: { get, all: [] } } }
  }

  test('a failing candidate that was taken back is only a warning', () => {
    expect(found({ share: '5%', fallback: false }, outage, stopped({}))).toMatchObject([{ severity: 'warning' }])
  })

  test.each([
    ['guard', '41 % of 312 requests failed', 'was taken back at 02:03:00'],
    ['redis', 'no response', 'gets nothing since 02:03:00, because its record in Redis was not read'],
  ] as const)('what no operator has stopped is a warning that says why: %s', (cause, reason, text) => {
    const findings = found({ share: '5%' }, { candidate: candidate() }, stopped({ cause, since, reason }))

    const told = { about, cause: `the candidate of risk ${text}: ${reason}`, alsoAbout: [], details: [] }
    const command = expect.stringMatching(/shift risk/)
    expect(findings).toEqual([{ severity: 'warning', ...told, since: expect.any(String), command }])
  })

  test('requests that keep failing at the candidate are critical, and no finding of the primary', () => {
    const side = { candidate: candidate([{ failingSince: since }, { url: `${next}1` }]) }
    const causes = [cause({ endpoint: next, kind: 'reset-before-headers', reason: 'reset' })]

    expect(found({ share: '5%' }, side, { causes }).map(columns)).toEqual([
      ['critical', about, expect.stringContaining('12 requests failed in the last minute')],
    ])
  })
})

const responded = (url: string, status: number) => ({ at, endpoint: url, kind: null, reason: null, status }) as const

describe('with clients on it, an outage of the primary', () => {
  const out = endpoint({ state: { name: 'failing', since, reason: 'refused' }, lastFailure: responded(risk, 503) })
  const traffic = { requests: 40, passedOn: 30, storedErrors: 0 }
  const none = { requests: 0, passedOn: 0, storedErrors: 0 }
  const recent = byOperation(({ group }) => (group === 'risk' ? traffic : none))
  const failing = { lastFailure: responded(next, 500) }
  const of = 'operations.risk.asset-valuation'
  const passedOn = `${next} responded with 500 last): 30 of 40 requests in the last minute`
  const others = `requests to risk.asset-valuation fail, except for clients on the candidate: ${risk} responded with 503`
  const every = `every client is on the candidate, which has no primary to fall back on: ${risk} responded with 503`

  test.each<[string, string, Partial<EndpointReport>, string, string, string]>([
    ['fails requests of the others alone', '50%', {}, 'critical', 'upstreams.risk', `since 02:03:00; ${others}`],
    ['fails none where every client is on it', '100%', {}, 'warning', 'upstreams.risk', `since 02:03:00; ${every}`],
    ['hides no error that the candidate passes on', '100%', failing, 'critical', of, `5xx of its own (${passedOn}`],
    ['leaves nothing to fall back on', '100%', down, 'critical', about, 'so requests of its clients fail'],
    [
      'is no fault of one without',
      '0%',
      failing,
      'critical',
      'upstreams.risk',
      'every request to risk.asset-valuation',
    ],
  ])('%s', (_, share, endpoint, severity, subject, text) => {
    const told = found({ share }, { endpoints: [out], candidate: candidate([endpoint]) }, { recent })

    expect(told.map(columns)).toContainEqual([severity, subject, expect.stringContaining(text)])
    const isAlone = subject === 'upstreams.risk'
    if (isAlone) expect(told.filter((each) => each.severity !== 'notice')).toHaveLength(1)
  })

  test.each([
    ['50%', 'critical', 'so clients that are not on the candidate get 503'],
    ['100%', 'warning', 'and every client is on the candidate'],
  ])('whose endpoints all drain is no outage for clients on the candidate: %s', (share, severity, consequence) => {
    expect(found({ share }, { endpoints: [endpoint(draining)], candidate: candidate() })).toMatchObject([
      { severity, cause: `every endpoint of risk drains, or has weight 0, ${consequence}` },
    ])
  })

  test('an error that the candidate relays is named with its endpoint, without an outage of the primary', () => {
    const told = found({ share: '50%' }, { candidate: candidate([failing]) }, { recent })

    expect(told.map(columns)).toContainEqual([
      'critical',
      of,
      expect.stringContaining(`(${next} responded with 500 last)`),
    ])
  })
})

describe('responses that differ', () => {
  let pass: (ms: number) => void
  let counts: ComparisonCounts
  beforeEach(() => {
    pass = moveClock(Date, Date.parse('2026-11-23T10:04:00Z'))
    counts = createCounts({ examples: true })
  })

  const compare = (equal: number, differing: number, name = 'grade'): void => {
    const request = { operation: 'market.insights', requestId: 'what-a-client-wrote' } as const
    for (let n = 0; n < equal; n++) counts.onPair(shadowResponse({ n }), shadowResponse({ n }), request)
    for (let n = 0; n < differing; n++)
      counts.onPair(shadowResponse({ [name]: 'Jane' }), shadowResponse({ [name]: 'Joe' }), request)
  }

  const findingsOf = (compareKeys: object = {}) => {
    const market = { candidate: candidate([{}], { comparison: counts.report }) }
    const settings = use({ shadow: { compare: compareKeys } }, 'market')
    return renderFindings(findingInputs({ at: Date.now(), settings, upstreams: { market } }))
  }

  test('too few equal responses are a warning, with what differs and without values', () => {
    compare(19, 1)

    expect(findingsOf()).toEqual([
      {
        ...{ severity: 'warning', about: 'upstreams.market.candidate', alsoAbout: [], details: [] },
        cause:
          '5 % of the responses of the candidate differ from those of the primary (1 of 20 compared in the last 5 minutes): market.insights /grade differs in 1',
        ...{ since: '2026-11-23T10:04:00.000Z', command: 'lender-gateway shift report market' },
      },
    ])
  })

  test.each([
    ['as many equal ones as the file asks for', 99, 1, {}, 0],
    ['fewer than that', 99, 1, { minEqual: '99.5%' }, 1],
    ['any where all are asked for', 99, 1, { minEqual: '100%' }, 1],
    ['any where none are', 99, 1, { minEqual: 'none' }, 0],
    ['a few', 0, 19, {}, 0],
  ])('of %s there are so many findings: %d of %d, %o: %d', (_, equal, differing, keys, count) => {
    compare(equal, differing)

    expect(findingsOf(keys)).toHaveLength(count)
  })

  test('a finding of differing responses ends five minutes after the last difference', () => {
    compare(0, 100)
    pass(310_000)
    compare(30, 0)

    expect(findingsOf()).toEqual([])
  })

  test('differences without a row have no place in the finding', () => {
    for (let n = 0; n < 201; n++) compare(0, 1, `m${String.fromCharCode(97 + (n % 26), 97 + Math.floor(n / 26))}`)
    pass(310_000)
    compare(0, 20, 'grade')

    const unknown = / in the last 5 minutes\): where is not known, since the table is full$/
    expect(findingsOf()[0]?.cause).toMatch(unknown)
  })
})
