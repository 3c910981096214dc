import { describe, expect, test } from 'vitest'
import { ownerDetails } from '../../../../src/core/admin/findings/failure-phrases.ts'
import type { RecentTraffic } from '../../../../src/core/admin/findings/finding-inputs.ts'
import type { FailureReason } from '../../../../src/core/exchange/failures/errors.ts'
import type { RecentError } from '../../../../src/core/log/recent-errors.ts'
import type { PrimaryParts } from '../../../../src/core/runtime/primary-part.ts'
import { applyFailedProblem } from '../../../../src/core/runtime/reload/reload-problems.ts'
import type { EndpointReport } from '../../../../src/core/runtime/status/endpoint.ts'
import type { AuditWriterState } from '../../../../src/features/audit/audit-writer.ts'
import { zeroCacheOutcomes } from '../../../../src/features/cache/store/stored-response.ts'
import { allOperations, byOperation, type OperationId } from '../../../../src/operations.ts'
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

const found = (...differs: Parameters<typeof findingInputs>) => renderFindings(findingInputs(...differs))
const causes = (...differs: Parameters<typeof findingInputs>) => found(...differs).map((each) => each.cause)
const editedFile = { ...findingInputs().file, differing: ['gateway.yaml'] }

test('a gateway that is well has none', () => {
  expect(found()).toEqual([])
})

test('the worst comes first, whatever it is of', () => {
  const findings = found({
    causes: [cause(), cause({ kind: 'not-found', reason: null, operation: null, endpoint: null })],
    file: {
      name: 'gateway.yaml',
      differing: ['gateway.yaml'],
      rolledBack: false,
      nextTryAt: null,
      refusal: { at, since: at, trigger: 'file', problems: [], isFileSound: false, isUnanswered: false },
    },
  })

  expect(findings.map(({ severity, about }) => [severity, about])).toEqual([
    ['critical', 'upstreams.risk'],
    ['warning', 'config'],
    ['notice', 'clients'],
  ])
})

test.each([
  [at - 5000, '2026-11-21T02:03:55.000Z'],
  [null, '2026-11-21T01:04:00.000Z'],
])('a worker that hangs does so since it was last heard of, and is replaced when killed', (heardAt, since) => {
  const worker = { worker: 2, pid: 4711, startedAt: at - 3_600_000, heardAt, restarts: 0, inFlight: null, config: null }

  const workers = { states: [{ ...worker, state: 'not answering' }] }
  const parts = { audit: { state: null }, workers } as object as PrimaryParts

  expect(found({ parts })).toMatchObject([
    { cause: 'worker 2 gives no sign of life', since, details: ['if it stays so, kill -9 4711 has it replaced'] },
  ])
})

const other = endpoint({ url: 'http://risk-b:8080' })

/** The state of an endpoint that has failed since then. */
const failing = (since: number) => ({
  state: {
    name: 'failing' as const,
    since,
    reason: 'no success since 9 failures, the last: the endpoint refuses connections (ECONNREFUSED)',
  },
  ...{ requests: 40, failures: 9, ejections: 0 },
  succeededAt: since - 50,
  failingSince: since,
})

const refusedAt = (when: number, url = risk) =>
  ({ at: when, endpoint: url, kind: 'connect-failed', reason: 'refused', status: null }) as const

describe('an endpoint', () => {
  test('that closes connections before its answers and within them is named once, with all of them', () => {
    const before = cause({ kind: 'reset-before-headers', reason: 'closed', lastMinute: 2 })
    const within = cause({ kind: 'truncated', reason: 'closed', lastMinute: 3 })

    expect(found({ causes: [before, within] })).toMatchObject([
      { cause: `${risk} closed the connection: 5 requests failed in the last minute` },
    ])
  })

  test('that fails is named with its cause, how often, since when, and what shows more', () => {
    expect(found({ causes: [cause()] })).toEqual([
      {
        severity: 'critical',
        about: 'upstreams.risk',
        cause: `${risk} refuses connections (ECONNREFUSED): 12 requests failed in the last minute`,
        alsoAbout: [],
        details: [],
        since: '2026-11-21T02:03:00.000Z',
        command: 'lender-gateway check --online gateway.yaml',
      },
    ])
  })

  test('is shown, and not tried as the file has it, while the file says something else than what runs', () => {
    const [edited] = found({ causes: [cause()], file: editedFile })

    expect(edited?.command).toBe('lender-gateway explain POST /risk/asset-valuation --live')
  })

  test.each([
    ['connect-timeout', 'check --online gateway.yaml'],
    ['tls-failed', 'check --online gateway.yaml'],
    ['headers-timeout', 'explain POST /risk/asset-valuation --live'],
    ['reset-before-headers', 'explain POST /risk/asset-valuation --live'],
  ] as const)('is tried only where no connection was made, since a trial sends no request: %s', (kind, command) => {
    const lastFailure = { ...refusedAt(at), kind, reason: null }
    const dead = endpoint({ ...failing(at - 1000), lastFailure })
    const findings = [
      ...found({ causes: [cause({ kind, reason: null })] }),
      ...found({ upstreams: { risk: { endpoints: [dead, other] } } }),
      ...found({ upstreams: { risk: { endpoints: [dead] } } }),
    ]

    expect(findings.map((each) => each.command)).toEqual(Array(3).fill(`lender-gateway ${command}`))
  })

  test('that its health check finds down is not tried: a trial does not ask for the path', () => {
    const down = endpoint({ state: { name: 'down', since: at, reason: 'answered 503, 200-299 is expected' } })

    expect(found({ upstreams: { risk: { endpoints: [down, other] } } })).toMatchObject([
      { command: 'lender-gateway explain POST /risk/asset-valuation --live' },
    ])
  })

  test('that its group names twice is named once, and as of that group', () => {
    const findings = found({ causes: [cause()], upstreams: { risk: { endpoints: [endpoint(), endpoint()] } } })

    expect(findings.map((each) => each.cause)).toEqual([
      `${risk} refuses connections (ECONNREFUSED): 12 requests failed in the last minute`,
    ])
  })

  test('that others stand in for is a warning, with why it is out', () => {
    const ejected = endpoint({
      state: { name: 'ejected', since: at - 5000, reason: '5 failures in a row' },
      ejectedForMs: 10_000,
    })
    const endpoints = [ejected, endpoint({ url: 'http://risk-b:8080' })]

    expect(found({ causes: [cause({ lastMinute: 1 })], upstreams: { risk: { endpoints } } })).toMatchObject([
      {
        severity: 'warning',
        cause: `${risk} refuses connections (ECONNREFUSED): 1 request failed in the last minute; it is ejected until 2026-11-21T02:04:10.000Z: 5 failures in a row`,
      },
    ])
    expect(found({ upstreams: { risk: { endpoints } } })).toMatchObject([
      { severity: 'warning', cause: `${risk}: it is ejected until 2026-11-21T02:04:10.000Z: 5 failures in a row` },
    ])
  })

  test('whose failures others made good is named, for a minute', () => {
    const failed = (ago: number, more = {}) =>
      endpoint({
        lastFailure: { at: at - ago, endpoint: risk, kind: 'connect-failed', reason: 'refused', status: null, ...more },
      })
    const of = (each: ReturnType<typeof failed>) => found({ upstreams: { risk: { endpoints: [each] } } })

    expect(of(failed(1000))).toMatchObject([
      { severity: 'notice', cause: `${risk} refuses connections (ECONNREFUSED), and another attempt was made` },
    ])
    expect(of(failed(1000, { kind: null, reason: null, status: 503 }))).toMatchObject([
      { severity: 'notice', cause: `${risk} answered 503, which is passed on` },
    ])
    expect(of(failed(61_000))).toEqual([])
  })

  test('that is ejected is named with its last failure', () => {
    const ejected = endpoint({
      state: { name: 'ejected', since: at - 5000, reason: '5 failures in a row' },
      lastFailure: { at, endpoint: risk, kind: 'tls-failed', reason: 'certificate-expired', status: null },
    })

    expect(causes({ upstreams: { risk: { endpoints: [ejected, other] } } })).toEqual([
      `the certificate of ${risk} has expired (CERT_HAS_EXPIRED); it is ejected: 5 failures in a row`,
    ])
  })

  test('of which every request fails, and others make them good, is a warning since the first of them', () => {
    const dead = endpoint({ ...failing(at - 600_400), lastFailure: refusedAt(at - 80) })

    expect(found({ upstreams: { risk: { endpoints: [dead, other] } } })).toMatchObject([
      {
        severity: 'warning',
        cause: `${risk} refuses connections (ECONNREFUSED); no request to it goes well any more`,
        since: '2026-11-21T01:53:59.600Z',
      },
    ])
  })

  test('that has failed all requests since it was ejected stays the same finding when the ejection ends', () => {
    const lastFailure = { at: at - 2000, endpoint: risk, kind: null, reason: null, status: 500 } as const
    const failed = { failingSince: at - 60_000, failuresInARow: 3, onProbation: true, lastFailure }
    const ejected = { name: 'ejected', since: at - 2000, reason: '3 failures in a row' } as const
    const tell = (more: Partial<EndpointReport>) =>
      found({ upstreams: { risk: { endpoints: [endpoint({ ...failed, ...more }), other] } } })

    expect([...tell({ state: ejected }), ...tell({})]).toMatchObject([
      { severity: 'warning', since: '2026-11-21T02:03:00.000Z' },
      {
        severity: 'warning',
        cause: `${risk} answered 500; no request to it has gone well since it was ejected`,
        since: '2026-11-21T02:03:00.000Z',
      },
    ])
    expect(tell({ failingSince: null })).toMatchObject([{ severity: 'notice' }])
  })

  test('that is drained has failed since it failed, not since the drain', () => {
    const drained = endpoint({ state: { name: 'draining', since: at - 1000, reason: null } })

    expect(
      found({ causes: [cause({ lastMinute: 0 })], upstreams: { risk: { endpoints: [drained, other] } } }),
    ).toMatchObject([{ severity: 'notice', since: '2026-11-21T02:03:00.000Z' }])
  })

  test('that is left alone is no worse than a warning, however many requests it failed before', () => {
    const ejected = endpoint({ state: { name: 'ejected', since: at - 5000, reason: '5 failures in a row' } })

    expect(found({ causes: [cause()], upstreams: { risk: { endpoints: [ejected, other] } } })).toMatchObject([
      { severity: 'warning' },
    ])
  })

  test('that probes find down and that answers all the same does not fail its group', () => {
    const down = endpoint({ state: { name: 'down', since: at - 60_000, reason: 'answered 404, 200-299 is expected' } })

    expect(found({ upstreams: { risk: { endpoints: [down] } } })).toMatchObject([
      {
        severity: 'warning',
        cause: `${risk}: it is down: answered 404, 200-299 is expected, and answers all the same`,
      },
    ])
  })

  describe('whose certificate', () => {
    const day = 86_400_000
    const shown = (days: number, more = {}) => ({
      ...{ address: '192.0.2.1', notAfter: at + days * day, warnFrom: at + (days - 14) * day, seenAt: at - 60_000 },
      ...more,
    })
    const of = (...certificates: readonly ReturnType<typeof shown>[]) => ({
      upstreams: { risk: { endpoints: [endpoint({ certificates })] } },
    })

    test('expires within 14 days is named, with what shows more', () => {
      expect(found(of(shown(14.1)))).toEqual([])
      expect(found(of(shown(9)))).toMatchObject([
        {
          severity: 'warning',
          about: 'upstreams.risk',
          cause: `the certificate of ${risk} expires at 2026-11-30T02:04:00.000Z`,
          since: null,
          command: 'lender-gateway check --online gateway.yaml',
        },
      ])
    })

    test('has expired is critical, unless it is not verified', () => {
      const expired = {
        about: 'upstreams.risk',
        cause: `the certificate of ${risk} has expired, at 2026-11-20T02:04:00.000Z; it was last seen at 2026-11-21T02:03:00.000Z`,
        since: '2026-11-20T02:04:00.000Z',
      }
      const unverified = {
        upstreams: { risk: { endpoints: ['https://risk-a'], tls: { verify: false, insecure: true } } },
      }

      expect(found(of(shown(-1)))).toMatchObject([{ severity: 'critical', ...expired }])
      expect(found({ ...of(shown(-1)), settings: unverified })).toMatchObject([{ severity: 'warning', ...expired }])
    })

    test('has expired is named once where requests fail for it', () => {
      const failing = cause({ kind: 'tls-failed', reason: 'certificate-expired' })

      expect(causes({ ...of(shown(-1)), causes: [failing] })).toEqual([
        expect.stringContaining(`the certificate of ${risk} has expired (CERT_HAS_EXPIRED): 12 `),
      ])
    })

    test('has expired is named once where another endpoint makes good what fails for it', () => {
      const lastFailure = {
        at,
        kind: 'tls-failed',
        reason: 'certificate-expired',
        status: null,
        endpoint: risk,
      } as const
      const failing = endpoint({ certificates: [shown(-1)], failingSince: at - 60_000, failuresInARow: 9, lastFailure })

      const findings = causes({
        upstreams: { risk: { endpoints: [failing, endpoint({ url: 'http://risk-b:8080' })] } },
      })

      expect(findings.filter((each) => each.includes('has expired'))).toHaveLength(1)
    })

    test('differs between its addresses is named by the one that ends first', () => {
      expect(causes(of(shown(300), shown(9, { address: '192.0.2.2' })))).toEqual([
        `the certificate of ${risk}, as 192.0.2.2 shows it, expires at 2026-11-30T02:04:00.000Z`,
      ])
    })

    test('of several groups is named once', () => {
      const { risk: same } = of(shown(9)).upstreams

      expect(causes({ upstreams: { risk: same, market: same } })).toEqual([
        `the certificate of ${risk} expires at 2026-11-30T02:04:00.000Z (the same behind market)`,
      ])
    })
  })

  test('whose requests have failed no more for 15 seconds is no longer critical, and the last of them is named', () => {
    const lastOf = (lastAt: number) => found({ causes: [cause({ lastAt })] }).map((each) => [each.severity, each.cause])
    const sentence = `${risk} refuses connections (ECONNREFUSED): 12 requests failed in the last minute`

    expect(lastOf(at - 14_999)).toEqual([['critical', sentence]])
    expect(lastOf(at - 15_000)).toEqual([['warning', `${sentence}, none since 02:03:45`]])
  })

  test('whose name is not found any more is named, though it answers', () => {
    const outdated = { since: at - 5000, reason: 'the name does not resolve (ENOTFOUND)' }

    expect(causes({ upstreams: { risk: { endpoints: [endpoint({ outdated })] } } })).toEqual([
      `the name of ${risk} is not found any more: the name does not resolve (ENOTFOUND); requests go on to the address that it had`,
    ])
  })

  test('that has been well for a minute is a notice', () => {
    expect(found({ causes: [cause({ lastMinute: 0, last15Min: 7 })] })).toMatchObject([
      {
        severity: 'notice',
        cause: expect.stringContaining('7 requests failed in the last 15 minutes, none in the last minute'),
      },
    ])
  })

  test('that does not answer is named with the limit, and once, whatever it failed by', () => {
    const late = (kind: 'headers-timeout' | 'deadline-exceeded') => cause({ kind, reason: null })

    expect(found({ causes: [late('headers-timeout'), late('deadline-exceeded')] })).toMatchObject([
      {
        cause: `${risk} did not answer within timeouts.headers (15s): 12 requests failed in the last minute`,
        alsoAbout: [],
        details: [
          `${risk}: there was no answer within the deadline of the operation (30s): 12 requests failed in the last minute`,
        ],
      },
    ])
  })

  test('that did not answer before the last edit is named without the limit of today', () => {
    const late = cause({ kind: 'headers-timeout', reason: null, lastAt: at - 10_000 })

    expect(found({ causes: [late], loadedAt: at - 5_000 })).toMatchObject([
      { cause: `${risk} did not answer within timeouts.headers: 12 requests failed in the last minute` },
    ])
  })

  test('that answers slowly is named before it is given up', () => {
    expect(causes({ upstreams: { risk: { endpoints: [endpoint({ latencyMs: 9000 })] } } })).toEqual([
      `${risk} takes 9s to answer of late, and is given up after 15s (timeouts.headers)`,
    ])
    expect(causes({ upstreams: { risk: { endpoints: [endpoint({ latencyMs: 7000 })] } } })).toEqual([])
  })

  test.each([
    ['name-not-found', `the name of ${risk} does not resolve (ENOTFOUND)`],
    ['certificate-name', `the certificate of ${risk} is for another name`],
    ['certificate-expired', `the certificate of ${risk} has expired (CERT_HAS_EXPIRED)`],
  ] as const)('is named in what is said of it: %s', (reason, said) => {
    expect(causes({ causes: [cause({ reason })] })).toEqual([`${said}: 12 requests failed in the last minute`])
  })
})

const by = (reason: FailureReason) => ({ ...refusedAt(at - 80), reason })
const ownError = { at, endpoint: risk, kind: null, reason: null, status: 503 } as const

describe('a group', () => {
  test('of which no endpoint serves is shown, and not tried, while the file says something else', () => {
    const [edited] = found({ upstreams: { risk: { endpoints: [dead()] } }, file: editedFile })

    expect(edited?.command).toBe('lender-gateway explain POST /risk/asset-valuation --live')
  })

  const dead = (more: Parameters<typeof endpoint>[0] = {}) =>
    endpoint({ ...failing(at - 2000), lastFailure: refusedAt(at - 80), ...more })
  const tripped = (state: 'open' | 'half-open') =>
    ({
      state,
      since: at - 700,
      where: null,
      outageSince: at - 1800,
      lastFailure: refusedAt(at - 80),
      openForMs: state === 'open' ? 4000 : null,
    }) as const

  test('of which no endpoint serves is one finding, since the first failure, with its endpoints below it', () => {
    const refused = cause({ kind: 'circuit-open', reason: 'breaker-open', endpoint: null, lastMinute: 40 })
    const upstreams = { risk: { breaker: tripped('open'), endpoints: [dead()], retryBudget: { left: 0 } } }

    expect(found({ upstreams, causes: [refused, cause()] })).toEqual([
      {
        severity: 'critical',
        about: 'upstreams.risk',
        cause: `no endpoint of risk serves since 02:03:58; every request to risk.asset-valuation fails: ECONNREFUSED at ${risk}`,
        alsoAbout: [],
        details: [
          `${risk} is failing: no success since 9 failures, the last: the endpoint refuses connections (ECONNREFUSED); 9 of 40 requests to it failed since 00:04:00`,
          'the circuit breaker of risk is open: 40 requests were refused in the last minute',
          'the first request after 02:04:04 tries whether it is well',
          `for the owner of ${risk} to mend: nothing has changed here since the last good answer`,
        ],
        since: '2026-11-21T02:03:58.000Z',
        command: 'lender-gateway check --online gateway.yaml',
      },
    ])
  })

  test.each([
    ['never answered, after an edit', null, at - 60_000, 1],
    ['answered once', at - 5000, at - 60_000, 0],
    ['never answered, since the start', null, null, 0],
  ])('whose endpoint has %s, says so, and what undoes that', (_, succeededAt, undoableEditAt, count) => {
    const upstreams = { risk: { endpoints: [dead({ succeededAt })] } }

    const details = found({ upstreams, causes: [cause()], undoableEditAt })[0]?.details ?? []

    const hint = 'no request has gone well there yet: rollback undoes the last edit, of 02:03:00'
    expect(details.filter((line) => line === hint)).toHaveLength(count)
  })

  test('is named as before while its breaker finds out, and while no request comes', () => {
    const half = { risk: { breaker: tripped('half-open'), endpoints: [dead()] } }
    const shut = { risk: { breaker: tripped('open'), endpoints: [dead()] } }
    const said = (upstreams: typeof half | typeof shut, lastMinute: number) =>
      found({ upstreams, causes: [cause({ lastMinute })] }).map(({ details, ...all }) => all)

    expect(said(half, 0)).toEqual(said(shut, 40))
  })

  describe('to which no request has come for a minute', () => {
    const lastFailure = refusedAt(at - 70_000)
    const silent = endpoint({ ...failing(at - 90_000), failuresInARow: 9, lastFailure })
    const traffic = (requests: number) => byOperation(() => ({ requests, passedOn: 0, storedErrors: 0 }))
    const tell = (more: Partial<EndpointReport>, requests = 0) =>
      found({
        upstreams: { risk: { endpoints: [{ ...silent, ...more }] } },
        causes: [cause({ lastMinute: 0, lastAt: at - 70_000 })],
        recent: traffic(requests),
      }).map(({ severity, cause }) => [severity, cause])

    test('is a warning that says so: the endpoint may be well again', () => {
      expect(tell({})).toEqual([
        [
          'warning',
          `no endpoint of risk serves since 02:02:30; no request has been sent there since 02:02:50, the last 9 failed: ECONNREFUSED at ${risk}`,
        ],
      ])
    })

    test.each([
      ['one has come that was not sent, as a breaker has it', {}, 1],
      ['one is under way', { inFlight: 1 }, 0],
      ['probes find it down', { state: { name: 'down', since: at, reason: 'answered 503' } }, 0],
    ] as const)('stays critical where %s', (_, more, requests) => {
      expect(tell(more, requests)).toEqual([['critical', expect.not.stringContaining('no request')]])
    })
  })

  test('whose breaker has let something through is named by its breaker, which is critical half-open as well', () => {
    const through = endpoint({ succeededAt: at - 100, lastFailure: refusedAt(at - 80) })

    for (const state of ['open', 'half-open'] as const)
      expect(found({ upstreams: { risk: { breaker: tripped(state), endpoints: [through] } } })[0]).toMatchObject({
        severity: 'critical',
        cause: expect.stringMatching(
          /^the circuit breaker of risk is \S+, so .*, because http:\S+ refuses connections \(ECONNREFUSED\)$/,
        ),
        since: '2026-11-21T02:03:58.200Z',
      })
  })

  test('is served as long as one of its endpoints serves', () => {
    expect(found({ upstreams: { risk: { endpoints: [dead(), other] } } })).toMatchObject([{ severity: 'warning' }])
  })

  test('names each endpoint that fails, and how', () => {
    const b = 'https://risk-b:8443'
    const expired = { ...refusedAt(at, b), kind: 'tls-failed', reason: 'certificate-expired' } as const
    const silent = { ...refusedAt(at, 'http://c'), kind: 'headers-timeout', reason: null } as const
    const endpoints = [
      dead(),
      dead({ url: 'http://risk-d', lastFailure: refusedAt(at, 'http://risk-d') }),
      dead({ url: b, lastFailure: expired }),
      dead({ url: 'http://c', lastFailure: silent }),
    ]

    expect(causes({ upstreams: { risk: { endpoints } } })).toEqual([
      `no endpoint of risk serves since 02:03:58: ECONNREFUSED at ${risk}, http://risk-d; CERT_HAS_EXPIRED at ${b}; http://c did not answer within timeouts.headers (15s)`,
    ])
  })

  test('fails since the last of its endpoints does', () => {
    const long = dead({ succeededAt: at - 900_000, failingSince: at - 890_000 })

    expect(found({ upstreams: { risk: { endpoints: [long, dead({ url: 'http://risk-b' })] } } })).toMatchObject([
      { severity: 'critical', since: '2026-11-21T02:03:58.000Z' },
    ])
  })

  test('of which probes find the only endpoint down is critical, though no request came', () => {
    const down = endpoint({ state: { name: 'down', since: at, reason: 'connection refused' } })

    expect(found({ upstreams: { risk: { endpoints: [down] } } })).toMatchObject([
      {
        severity: 'critical',
        cause: `no endpoint of risk serves since 02:04:00: ${risk} is down: connection refused`,
      },
    ])
  })

  test('that fails as others do, for the same endpoint, is named with them, since the first of them', () => {
    const risky = { risk: { endpoints: [dead()] }, market: { endpoints: [dead({ failingSince: at - 1500 })] } }

    expect(found({ upstreams: risky })).toMatchObject([
      {
        about: 'upstreams.risk',
        alsoAbout: ['upstreams.market'],
        cause: `no endpoint of risk and market serves since 02:03:58: ECONNREFUSED at ${risk}`,
        since: '2026-11-21T02:03:58.000Z',
      },
    ])
  })

  test('of which an endpoint is down as its last request failed says that once', () => {
    const as = (reason: string) => dead({ state: { name: 'down', since: at - 100, reason } })
    const endpoints = [as('the endpoint refuses connections (ECONNREFUSED) (in 1 of 2 workers)'), as('answered 503')]
    const [details] = found({ upstreams: { risk: { endpoints } } }).map((each) => each.details)

    expect(details?.[0]).not.toContain('the last failure')
    expect(details?.[1]).toContain(`is down: answered 503; the last failure: ${risk} refuses connections`)
  })

  test('of which an endpoint is down or ejected says how many have failed there in a row', () => {
    const out = { name: 'down', since: at - 100, reason: 'answered 503' } as const
    const endpoints = [
      dead({ state: out, failuresInARow: 4 }),
      dead({ url: 'http://b', state: out, failuresInARow: 0 }),
    ]
    const [details] = found({ upstreams: { risk: { endpoints } } }).map((each) => each.details)

    expect(details?.[0]).toMatch(/; no success since 4 failures; 9 of 40 requests/)
    expect(details?.[1]).not.toContain('no success since')
  })

  test.each([
    ['refuses, and answered before', {}, 'nothing has changed here since the last good answer'],
    ['refuses, and never answered', { succeededAt: null }, null],
    [
      'answers with an error of its own',
      { succeededAt: null, lastFailure: ownError },
      'the error is in the answer itself',
    ],
    [
      'shows an expired certificate',
      { succeededAt: null, lastFailure: by('certificate-expired') },
      'the endpoint itself shows that certificate',
    ],
    ['has a name that is gone', { lastFailure: by('name-not-found') }, null],
    ['has no route to it', { lastFailure: by('unreachable') }, null],
    ['has failed, and is well', { failingSince: null }, null],
    ['has failed since an edit', { succeededAt: at - 60_001 }, null],
  ] as const)('is for the owner of an endpoint to mend where that is known: one that %s', (_, more, how) => {
    const details = ownerDetails([dead(more)], { loadedAt: at - 60_000 })

    expect(details).toEqual(how === null ? [] : [`for the owner of ${risk} to mend: ${how}`])
  })

  test('names together the endpoints that are known in the same way to be for their owners to mend', () => {
    expect(ownerDetails([dead(), dead({ url: 'http://b' })], { loadedAt: 0 })).toEqual([
      `for the owner of ${risk} and http://b to mend: nothing has changed here since the last good answer`,
    ])
  })

  test('that failed before today is named with the day', () => {
    const since = at - 86_400_000
    const gone = dead({ succeededAt: null, failingSince: since })

    expect(causes({ upstreams: { risk: { endpoints: [gone] } } })[0]).toContain('serves since 2026-11-20T02:04:00Z: ')
  })

  test('that answers with errors of its own alone is named once', () => {
    const answered = { at, endpoint: risk, kind: null, reason: null, status: 503 } as const
    const recent = Object.fromEntries(
      allOperations.map(({ id, group }) => [
        id,
        { requests: 40, passedOn: group === 'risk' ? 40 : 0, storedErrors: 0 },
      ]),
    ) as Record<OperationId, RecentTraffic>

    expect(causes({ recent, upstreams: { risk: { endpoints: [dead({ lastFailure: answered })] } } })).toEqual([
      `no endpoint of risk serves since 02:03:58; every request to risk.asset-valuation fails: ${risk} answered 503`,
    ])
  })

  test('whose responses are cached fails but for what is stored', () => {
    const settings = { operations: { 'market.insights': { cache: {} } } }
    const upstreams = { market: { endpoints: [dead()] } }

    expect(causes({ settings, upstreams, causes: [cause({ operation: 'market.insights' })] })).toEqual([
      `no endpoint of market serves since 02:03:58; every request to market.insights that no cache answers fails: ECONNREFUSED at ${risk}`,
    ])
  })

  test('of which every endpoint drains answers no request', () => {
    const endpoints = [endpoint({ state: { name: 'draining', since: null, reason: null } })]

    expect(causes({ upstreams: { risk: { endpoints } } })).toEqual([
      'every endpoint of risk drains, or has weight 0, so nobody answers',
    ])
  })
})

describe('what clients do wrong', () => {
  const unmatched = (lastMinute: number, last15Min = lastMinute) =>
    cause({ kind: 'not-found', reason: null, operation: null, endpoint: null, lastMinute, last15Min })

  test('is worth a notice when it comes again and again, not when it came once', () => {
    expect(causes({ causes: [unmatched(1)] })).toEqual([])
    expect(causes({ causes: [unmatched(2, 9)] })).toEqual([])
    expect(causes({ causes: [unmatched(3)] })).toEqual([
      'the path is none of the nine: 3 requests were refused with 404 in the last minute',
    ])
    expect(causes({ causes: [unmatched(0, 10)] })).toHaveLength(1)
  })

  test('is a warning, and the listener’s, where a load balancer sends no PROXY protocol header', () => {
    const missing = { kind: 'bad-request', reason: 'no-proxy-header', operation: null, endpoint: null } as const
    const last = [{ kind: missing.kind, reason: missing.reason, client: '10.0.0.7', clientId: null } as RecentError]

    expect(found({ causes: [cause(missing)], last })).toMatchObject([
      {
        severity: 'warning',
        about: 'listen.proxyProtocol',
        cause:
          'no PROXY protocol header came from an address under listen.proxyProtocol.from: 12 requests were refused in the last minute, from 10.0.0.7',
      },
    ])
    expect(found({ causes: [cause({ ...missing, lastMinute: 0 })] })).toMatchObject([{ severity: 'notice' }])
  })

  test('is a notice where a PROXY protocol header came unasked, and says whether any is taken', () => {
    const unasked = { kind: 'bad-request', reason: 'proxy-header', operation: null, endpoint: null } as const
    const of = (listen: Record<string, unknown>) => found({ causes: [cause(unasked)], settings: { listen } })

    expect(of({})).toMatchObject([
      { severity: 'notice', about: 'clients', cause: expect.stringContaining('proxyProtocol.from, which is off: 12') },
    ])
    expect(of({ proxyProtocol: { from: ['10.0.0.1'] } })).toMatchObject([
      { cause: expect.stringContaining('proxyProtocol.from: 12 requests were refused with 400') },
    ])
  })

  test('is named with the reason, the operation and its client', () => {
    const expired = { kind: 'unauthenticated', reason: 'expired', endpoint: null } as const
    const last = ['bank-a', 'bank-b'].map((clientId) => ({ ...expired, client: '10.0.0.7', clientId }) as RecentError)

    const of = (...those: readonly RecentError[]) => found({ causes: [cause(expired)], last: those })

    expect(of(...last.slice(0, 1))).toMatchObject([
      {
        about: 'operations.risk.asset-valuation',
        cause: 'the token has expired: 12 requests were refused with 401 in the last minute, from bank-a',
        command: 'lender-gateway tail --refused --since 15m',
      },
    ])
    expect(of(...last)).toMatchObject([{ cause: expect.stringMatching(/, from 2 clients, the last one bank-a$/) }])
  })
})

describe('a limit', () => {
  const key = 'upstreams.risk.concurrency'
  const report = (inFlight: number) => ({
    limits: { rate: null, concurrency: [{ key, inFlight, limit: 3 }], eventLoop: null },
  })
  const refused = cause({ kind: 'overloaded', reason: 'upstream-concurrency', endpoint: null })

  test('that rejects is named by its key, with how full it is', () => {
    expect(found({ report: report(3), causes: [refused] })).toMatchObject([
      {
        severity: 'warning',
        about: key,
        cause: `${key} is full: 12 requests were refused in the last minute, 3 of 3 in flight now`,
        command: 'lender-gateway explain POST /risk/asset-valuation --live',
      },
    ])
    expect(causes({ report: report(1), causes: [refused] })[0]).toContain(`${key} was full`)
    expect(causes({ causes: [refused] })).toEqual([`${key} was full: 12 requests were refused in the last minute`])
  })

  test.each([
    [24, 0, 'critical'],
    [24, 15_000, 'warning'],
    [25, 0, 'warning'],
  ])('that rejects 12 of %d requests, the last %d ms ago, is a %s', (requests, ago, severity) => {
    const none = { requests: 0, passedOn: 0, storedErrors: 0 }
    const recent = { ...byOperation(() => none), 'risk.asset-valuation': { requests, passedOn: 0, storedErrors: 0 } }

    expect(found({ recent, report: report(3), causes: [{ ...refused, lastAt: at - ago }] })).toMatchObject([
      { severity, about: key },
    ])
  })

  test('that is full and has rejected no request is a notice', () => {
    expect(found({ report: report(3) })).toMatchObject([{ severity: 'notice', about: key }])
    expect(found({ report: report(2) })).toEqual([])
  })
})

test('bodies that find no room are counted, and so are the operations whose they are', () => {
  const refused = cause({ kind: 'overloaded', reason: 'buffered-bodies', endpoint: null })

  expect(found({ causes: [refused, { ...refused, operation: 'valuation.score' }] })).toMatchObject([
    {
      severity: 'warning',
      about: 'limits',
      cause:
        'too many bodies wait in memory, of risk.asset-valuation and valuation.score: 24 requests were refused in the last minute',
      command: 'lender-gateway tail --refused --since 15m',
    },
  ])
})

test('connections that are closed at once are counted by the setting that has it so', () => {
  const rejected = (lastMinute: number) =>
    [{ setting: 'maxConnections', lastMinute, last15Min: 9, firstAt: at }] as const

  expect(found({ report: { rejectedConnections: rejected(1) } })).toMatchObject([
    {
      severity: 'warning',
      about: 'listen.maxConnections',
      cause: 'listen.maxConnections was reached: 1 connection was closed at once in the last minute; it is 10000 now',
    },
  ])
  expect(found({ report: { rejectedConnections: rejected(0) } })).toMatchObject([
    { severity: 'notice', cause: expect.stringContaining('9 connections were closed at once in the last 15 minutes') },
  ])
})

test('Redis that cannot be asked is named for what it is used for, with the reason', () => {
  const gone = { state: 'local', since: at, reason: 'connect ECONNREFUSED 127.0.0.1:6379', where: null } as const
  const rate = { store: 'redis', server: 'redis-a:6379', evictions: 0, ...gone } as const
  const redis = { ...{ found: 0, refused: 0, dropped: 0 }, server: 'redis-b:6379', ...gone }
  const limits = { rate, concurrency: [], eventLoop: null }
  const cache = { bytes: 0, maxBytes: 1, evictions: 0, redis, operations: [] }

  expect(causes({ settings: { limits: { address: { rate: '1/s' } } }, report: { limits, cache } })).toEqual([
    'Redis (redis-a:6379) cannot be asked (connect ECONNREFUSED 127.0.0.1:6379): this gateway counts the rates of clients by itself, so several gateways let more through',
    'Redis (redis-b:6379) cannot be asked (connect ECONNREFUSED 127.0.0.1:6379): this gateway has in its cache what it has stored itself',
  ])
  expect(causes({ report: { limits: { ...limits, rate: { ...rate, store: 'memory' } } } })).toEqual([])
})

test.each([
  ['refuse', 'critical', 'requests with a DPoP proof are refused (auth.dpop.withoutRedis: refuse)'],
  ['serve', 'warning', 'a DPoP proof is good once at each gateway (auth.dpop.withoutRedis: serve)'],
])('without Redis, proofs that it decides about (%s) are %s', (withoutRedis, severity, proofs) => {
  const gone = { state: 'local', since: at, reason: 'refused', where: null } as const
  const rate = { store: 'redis', server: 'redis:6379', evictions: 0, ...gone } as const
  const limits = { rate, concurrency: [], eventLoop: null }
  const [redis, address] = [{ url: 'redis://redis' }, { rate: '1/s' }]
  const bound = tokenBindingSettings(signingKey('ES256', 'issuer'), { dpop: { withoutRedis } })
  const settings = { ...bound, limits: { redis } }

  expect([
    ...found({ settings, report: { limits } }),
    ...found({ settings: { ...settings, limits: { redis, address } }, report: { limits } }),
  ]).toMatchObject([
    { severity, about: 'redis', cause: `Redis (redis:6379) cannot be asked (refused): ${proofs}` },
    {
      severity,
      cause: expect.stringMatching(
        /, and this gateway counts the rates of clients by itself, so several gateways let more through$/,
      ),
    },
  ])
})

describe('the event loop', () => {
  const eventLoop = { delayMs: 812.4, limitMs: 200, sheds: true, since: at, where: null }
  const shed = cause({ kind: 'overloaded', reason: 'event-loop', endpoint: null })
  const limits = (sheds: boolean) => ({ rate: null, concurrency: [], eventLoop: { ...eventLoop, sheds } })

  test('that is late rejects, and says by how much', () => {
    expect(found({ report: { limits: limits(true) }, causes: [shed] })).toMatchObject([
      {
        severity: 'critical',
        about: 'process',
        cause:
          'the event loop is 812ms late, over limits.eventLoopDelay (200ms), so new requests are refused: 12 requests were refused in the last minute',
      },
    ])
    expect(found({ report: { limits: limits(false) }, causes: [shed] })).toMatchObject([{ severity: 'warning' }])
  })

  test('that is late without a limit is a warning', () => {
    const runtime = (p99: number) => ({
      process: 'worker-1',
      pid: 1,
      startedAt: 1,
      uptimeSeconds: 1,
      cpuSeconds: { user: 0, system: 0 },
      residentBytes: 1,
      heap: { usedBytes: 1, totalBytes: 2, limitBytes: 100 },
      externalBytes: 0,
      eventLoop: { activeSeconds: 1, idleSeconds: 1, delayMs: { p50: 1, p99, max: p99 } },
    })

    expect(causes({ report: { runtimes: [runtime(600)] } })).toEqual([
      'the event loop of worker-1 is up to 600ms late: something keeps the process from its work',
    ])
    expect(causes({ report: { runtimes: [runtime(400)] } })).toEqual([])
  })
})

test('a body that is too large is named with the limit, where that is one', () => {
  const tooLarge = (operation: OperationId) =>
    cause({ kind: 'content-too-large', reason: 'body-too-large-declared', endpoint: null, operation })
  const settings = { operations: { 'inventory.sync': { maxBody: '1KiB' }, 'valuation.score': { maxBody: '2KiB' } } }

  expect(causes({ settings, causes: [tooLarge('inventory.sync')] })).toEqual([
    'the body says that it is larger than maxBody (1KiB): 12 requests were refused with 413 in the last minute',
  ])
  expect(causes({ settings, causes: [tooLarge('inventory.sync'), tooLarge('valuation.score')] })[0]).toMatch(
    /larger than maxBody: 24 requests/,
  )
})

test('an edit that was rejected is named with the place and the problem', () => {
  const problem = {
    file: 'gateway.yaml',
    line: 12,
    column: 9,
    path: 'upstreams.market',
    message: 'not a URL',
    expected: 'a URL',
    found: '"market-b"',
  }
  const refusal = {
    at: at + 5000,
    since: at,
    trigger: 'file',
    problems: [problem, problem],
    isFileSound: false,
    isUnanswered: false,
  } as const
  const file = { name: 'gateway.yaml', differing: ['gateway.yaml'], rolledBack: false, refusal }

  expect(found({ file: { ...file, nextTryAt: null } })).toEqual([
    {
      severity: 'warning',
      about: 'config',
      cause:
        'an edit of gateway.yaml was refused, and what ran before runs on: gateway.yaml:12:9 upstreams.market: not a URL, and 1 more',
      alsoAbout: [],
      details: ['until the file is corrected, a restart fails'],
      since: '2026-11-21T02:04:00.000Z',
      command: 'lender-gateway check gateway.yaml',
    },
  ])
  expect(causes({ file: { ...file, differing: ['contract.yaml', 'parts.yaml'], nextTryAt: null } })[0]).toMatch(
    /^an edit of contract.yaml and parts.yaml was refused/,
  )
  expect(causes({ file: { ...file, nextTryAt: at + 20_000 } })[0]).toMatch(
    / is held back, and what ran before runs on: /,
  )
})

test('an edit never ran where a rollback came after its refusal; in either case a restart fails', () => {
  const refusal = { at, since: at, trigger: 'file', problems: [], isFileSound: false, isUnanswered: false } as const
  const file = { name: 'gateway.yaml', differing: ['gateway.yaml'], rolledBack: true, refusal, nextTryAt: null }
  const details = ['until the file is corrected, a restart fails']

  expect(found({ file, loadedAt: at + 1 })).toMatchObject([
    { cause: 'an edit of gateway.yaml was refused, and never ran', details },
  ])
  expect(found({ file, loadedAt: at - 1 })).toMatchObject([
    { cause: 'an edit of gateway.yaml was refused, and what ran before runs on', details },
  ])
})

test('an edit that was refused though its file is sound leads to a reload: a check of the file finds nothing', () => {
  const refusal = { at, since: at, trigger: 'file', problems: [], isFileSound: true, isUnanswered: false } as const
  const file = { name: 'gateway.yaml', differing: ['gateway.yaml'], rolledBack: false, refusal, nextTryAt: null }

  expect(found({ file })).toMatchObject([{ about: 'config', command: 'lender-gateway reload' }])
})

test('an edit that could not be put into effect says why', () => {
  const problem = applyFailedProblem('gateway.yaml', new Error('audit.file audit.log cannot be used: EACCES'))
  const refusal = {
    at,
    since: at,
    trigger: 'file',
    problems: [problem],
    isFileSound: true,
    isUnanswered: false,
  } as const
  const file = { name: 'gateway.yaml', differing: ['gateway.yaml'], rolledBack: false, refusal, nextTryAt: null }

  expect(found({ file })[0]?.cause).toMatch(
    /could not be put into effect: audit\.file audit\.log cannot be used: EACCES$/,
  )
})

test('an edit that is held back leads to a trial of what it did not reach, or to a reload where a worker did not respond', () => {
  const commandOf = (isUnanswered: boolean) => {
    const refusal = { at, since: at, trigger: 'file', problems: [], isFileSound: true, isUnanswered } as const
    const file = { name: 'gateway.yaml', differing: ['gateway.yaml'], rolledBack: false, refusal, nextTryAt: at + 1 }
    return found({ file })[0]?.command
  }

  expect(commandOf(false)).toBe('lender-gateway check --online gateway.yaml')
  expect(commandOf(true)).toBe('lender-gateway reload')
})

test('a rollback that was refused is not taken for an edit', () => {
  const problem = { file: 'gateway.yaml', line: 1, column: 1, path: '', message: 'no disk', expected: '', found: '' }
  const refusal = {
    at,
    since: at,
    trigger: 'rollback',
    problems: [problem],
    isFileSound: true,
    isUnanswered: false,
  } as const
  const file = { name: 'gateway.yaml', differing: [], rolledBack: false, refusal, nextTryAt: null }

  expect(found({ file })).toMatchObject([
    {
      cause: 'a rollback was refused, and what ran before runs on: gateway.yaml:1:1: no disk',
      command: 'lender-gateway rollback',
    },
  ])
})

describe('the audit log', () => {
  const withAudit = (state: AuditWriterState) => ({
    parts: { audit: { state }, workers: { states: [] } } as object as PrimaryParts,
  })
  const audit = {
    file: '/var/log/audit.log',
    chain: '',
    count: 1,
    hash: '',
    reason: 'ENOSPC: no space left on device',
    since: at,
    waitingBytes: 0,
    lost: 0,
    disk: null,
  }

  test('that cannot be written is critical, and says what becomes of requests', () => {
    expect(found({ ...withAudit(audit), settings: {} })).toMatchObject([
      {
        severity: 'critical',
        about: 'audit',
        cause: expect.stringContaining('/var/log/audit.log: ENOSPC: no space left'),
        // A disk without inodes says the same.
        command: 'df -h /var/log; df -i /var/log',
      },
    ])
  })

  test('says that lines wait where requests go on, and nothing of those that were refused before', () => {
    const refused = cause({ kind: 'audit-unavailable', reason: null, endpoint: null })

    expect(found({ ...withAudit(audit), causes: [refused] })).toMatchObject([
      { severity: 'critical', cause: expect.stringMatching(/their lines wait in memory while there is room$/) },
    ])
  })

  const disk = { freeBytes: 1.5 * 1024 ** 3, sizeBytes: 20 * 1024 ** 3, fullInSeconds: 26_220, low: true }

  test('whose disk is full soon says so before it is, and what becomes of requests then', () => {
    const written = { ...audit, reason: null }
    const folder = folderWith({ key: 'k'.repeat(32) })
    const settings = (onFailure: string) => ({ audit: { file: audit.file, key: `file:${folder}/key`, onFailure } })

    expect(found({ ...withAudit({ ...written, disk }), settings: settings('refuse') })).toMatchObject([
      {
        severity: 'warning',
        about: 'audit',
        cause:
          'the disk of the audit log /var/log/audit.log has 1.5 GiB free of 20.0 GiB, and at the pace of the last hour it is full in 7 h 17 min: requests are refused when it is full (audit.onFailure: refuse)',
        command: 'df -h /var/log',
      },
    ])
    expect(
      found({ ...withAudit({ ...written, disk: { ...disk, fullInSeconds: null } }), settings: settings('continue') }),
    ).toMatchObject([
      {
        cause:
          'the disk of the audit log /var/log/audit.log has 1.5 GiB free of 20.0 GiB: lines wait in memory when it is full, up to 16 MiB, and are then lost (audit.onFailure: continue)',
      },
    ])
    expect(found({ ...withAudit({ ...written, disk: { ...disk, low: false } }) })).toEqual([])
  })

  test('that cannot be written says nothing of its disk beside that', () => {
    expect(found({ ...withAudit({ ...audit, disk }) })).toMatchObject([{ severity: 'critical' }])
  })

  test('that has lost lines says how many', () => {
    expect(found({ ...withAudit({ ...audit, reason: null, lost: 1 }) })).toMatchObject([
      { severity: 'notice', cause: 'the audit log lacks 1 line, and says where' },
    ])
    expect(found({ ...withAudit({ ...audit, reason: null }) })).toEqual([])
  })
})

const noOverride = { get: () => null, all: [] }

test('an endpoint that an operator drains is a notice, with what ends that, unless an edit has taken it out', () => {
  const override = { state: 'drain', by: 'anna', reason: null, since: at, until: at + 60_000, endsAt: 60_000 } as const
  const drained = new Map([`risk ${risk}`, 'risk http://taken-out:8080'].map((key) => [key, override]))
  const endpoints = { get: (key: string) => drained.get(key) ?? null, all: [] }

  expect(
    found({ overrides: { operations: noOverride, endpoints, learning: noOverride, shifts: noOverride } }),
  ).toMatchObject([
    {
      severity: 'notice',
      about: 'upstreams.risk',
      cause: `anna drains ${risk} until 2026-11-21T02:05:00.000Z: it gets no new requests`,
      command: `lender-gateway endpoint ready risk ${risk}`,
    },
  ])
})

test('an operation whose upstream answers with errors of its own is named, with the last', () => {
  const none = { requests: 40, passedOn: 2, storedErrors: 0 }
  const of = (passedOn: number) => ({
    ...(Object.fromEntries(allOperations.map(({ id }) => [id, none])) as Record<OperationId, typeof none>),
    'risk.asset-valuation': { requests: 40, passedOn, storedErrors: 0 },
  })
  const upstreams = (ago: number) => {
    const lastFailure = { at: at - ago, endpoint: risk, kind: null, reason: null, status: 503 }
    return { risk: { endpoints: [endpoint({ lastFailure })] } }
  }
  const words = `5xx of its own (${risk} answered 503 last): 30 of 40 requests in the last minute`

  expect(found({ recent: of(30), upstreams: upstreams(1000) })[0]).toMatchObject({
    severity: 'critical',
    about: 'operations.risk.asset-valuation',
    cause: `its upstream answers with ${words}`,
  })
  // What is counted as of the last minute may be older by one sample.
  expect(found({ recent: of(30), upstreams: upstreams(61_000) })).toMatchObject([
    { severity: 'warning', cause: `its upstream answered with ${words}, none since 02:02:59` },
  ])
  expect(found({ recent: of(4) })).toMatchObject([{ severity: 'warning' }])
  expect(found({ recent: of(2) })).toEqual([])
})

describe('an operation whose cache answers with a stored error', () => {
  const id = 'market.insights'
  const traffic = (storedErrors: number) => ({
    ...byOperation(() => ({ requests: 0, passedOn: 0, storedErrors: 0 })),
    [id]: { requests: 40, passedOn: 0, storedErrors },
  })
  const stored = { status: 503, sentAt: at - 240_000, freshUntil: at + 60_000, servedAt: at - 1000 }
  const cacheWith = (lastError: typeof stored | null) => ({
    cache: {
      bytes: 0,
      maxBytes: 0,
      evictions: 0,
      redis: null,
      operations: [{ operation: id, bytes: 0, entries: 1, ...zeroCacheOutcomes, lastError }] as const,
    },
  })
  const settings = { operations: { [id]: { cache: true } } }

  test('is named, and its upstream is not blamed', () => {
    expect(found({ settings, recent: traffic(38), report: cacheWith(stored) })).toEqual([
      expect.objectContaining({
        severity: 'critical',
        about: 'operations.market.insights',
        cause:
          'the cache answers with a stored 503, which the upstream sent at 02:00:00 ' +
          'and which is fresh until 02:05:00: 38 of 40 requests in the last minute',
        since: '2026-11-21T02:00:00.000Z',
        command: 'lender-gateway cache clear market.insights',
        details: [],
      }),
    ])
  })

  test('of few requests is a warning, and a notice once no client gets it any more', () => {
    const over = { ...stored, servedAt: at - 20_000 }

    expect(found({ settings, recent: traffic(1), report: cacheWith(stored) })).toMatchObject([{ severity: 'warning' }])
    expect(found({ settings, recent: traffic(38), report: cacheWith(over) })).toMatchObject([
      {
        severity: 'notice',
        cause: expect.stringMatching(/^the cache answered with a stored 503, .*, none since 02:03:40$/),
      },
    ])
    expect(found({ settings, recent: traffic(0), report: cacheWith(stored) })).toEqual([])
  })

  test('that is validated each time is said to be confirmed', () => {
    const validated = { ...stored, freshUntil: stored.sentAt }

    expect(causes({ settings, recent: traffic(1), report: cacheWith(validated) })[0]).toContain(
      'sent at 02:00:00 and which it has confirmed by 304:',
    )
  })

  test('is to be cleared on each gateway, where Redis is shared', () => {
    const shared = { ...settings, cache: { redis: { url: 'redis://redis' } } }

    expect(found({ settings: shared, recent: traffic(1), report: cacheWith(stored) })).toMatchObject([
      { details: ['each gateway has a memory of its own: run it on each of them'] },
    ])
  })
})

test('an operation that an operator refuses is named with the end of that', () => {
  const override = { state: 'refuse', by: 'anna', reason: null, since: at, until: at + 60_000, endsAt: 60_000 } as const
  const operations = { get: (id: string) => (id === 'inventory.sync' ? override : null), all: [] }

  expect(
    found({ overrides: { operations, endpoints: noOverride, learning: noOverride, shifts: noOverride } }),
  ).toMatchObject([
    {
      severity: 'warning',
      about: 'operations.inventory.sync',
      cause: 'anna refuses it until 2026-11-21T02:05:00.000Z',
    },
  ])
})

test.each([
  [2, 'it answered 500: the keys that are known (2) are used on'],
  [0, 'it answered 500: no token can be checked'],
])('keys of the issuer of operators that cannot be had, with %d known, are a warning', (keys, words) => {
  const state = { source: 'url', keys, error: 'it answered 500', since: at - 60_000, lastSuccess: null } as const

  expect(found({ operatorKeys: state })).toMatchObject([
    {
      severity: 'warning',
      about: 'admin.jwt',
      command: 'lender-gateway check --online gateway.yaml',
      cause: `the keys of the issuer of operators (admin.jwt.jwks) cannot be had: ${words}`,
    },
  ])
  expect(found({ operatorKeys: { ...state, error: null } })).toEqual([])
})
