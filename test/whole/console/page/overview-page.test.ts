import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { unnamedOperator } from '../../../../src/core/admin/access/operator-tokens.ts'
import { Principal } from '../../../../src/core/admin/access/principal.ts'
import type { Overview } from '../../../../src/core/admin/admin-part.ts'
import type { FindingSubject, Severity } from '../../../../src/core/admin/findings/finding.ts'
import { createShadowCounts } from '../../../../src/features/candidate/layers/shadow-copies.ts'
import { pageSections, pageTitle, renderOverviewPage } from '../../../../src/features/console/page/overview-page.ts'
import type { PageView } from '../../../../src/features/overview/overview.ts'
import { allOperations, type Group, groups } from '../../../../src/operations.ts'
import { anyCharacter } from '../../../helpers/any-character.ts'
import { fixture } from './fixture.ts'

const render = (overview: PageView = fixture, principal = new Principal(unnamedOperator, null, 60_000)): string =>
  renderOverviewPage(overview, principal).toString()
const visibleText = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replaceAll(/\s+/g, ' ')
const idsOf = (html: string): readonly string[] => html.match(/ id="[^"]*"/g) ?? []

type Status = Overview['status']
/** A section, for an overview or status that differs from the fixture. */
type Differing = Partial<Omit<PageView, 'status'>> & { readonly status?: Partial<Status> }
const section = (name: string, { status, ...view }: Differing = {}) => {
  const toHtml = pageSections[name]
  if (toHtml === undefined) throw new Error(`no section ${name}`)
  return toHtml({ ...fixture, ...view, status: { ...fixture.status, ...status } }).toString()
}
const part = (name: string, differing?: Differing): string => visibleText(section(name, differing))

type UpstreamView = Status['upstreams'][string]
type EndpointView = UpstreamView['endpoints'][number]
const upstreamOf = (group: Group): UpstreamView => fixture.status.upstreams[group] as UpstreamView
const withUpstream = (group: Group, more: Partial<UpstreamView>) => ({
  status: { upstreams: { [group]: { ...upstreamOf(group), ...more } } },
})
const withCandidate = (more: Partial<NonNullable<UpstreamView['candidate']>>) => {
  const { inFlight, balance, breaker, endpoints } = upstreamOf('leads')
  const candidate = { inFlight, balance, breaker, endpoints, shadow: null, comparison: null, shift: null, ...more }
  return withUpstream('leads', { candidate })
}

const replaced = (value: unknown, text: (old: string) => string): unknown => {
  if (typeof value === 'string') return text(value)
  if (Array.isArray(value)) return value.map((each) => replaced(each, text))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaced(each, text)]))
}

test('whatever stands in any text of it, the page has the same tags and attributes', () => {
  // Without those by which the page chooses what to show: only the gateway writes them.
  const chosen = new Set(
    JSON.stringify(fixture).match(
      /"(up|down|ejected|draining|serve|reject|serving|waiting|open|closed|applied|rejected|unchanged|shared|local|off|report|enforce|request|response|critical|warning|notice|\d{4}-[^"]*)"/g,
    ),
  )
  const hostile = (old: string, text: string): string => (chosen.has(JSON.stringify(old)) ? old : text)
  const skeleton = (html: string): string[] =>
    (html.match(/<[^>]*>/g) ?? []).map((tag) => tag.replaceAll(/"[^"]*"/g, '""'))
  const plain = skeleton(render(replaced(fixture, (old) => hostile(old, 'plain')) as PageView))

  fc.assert(
    fc.property(
      fc.oneof(
        fc.constantFrom('<script>x</script>', `" onclick="x`, `' autofocus='`, '</title><img src=x>', '-->', '`'),
        fc.string({ unit: anyCharacter, minLength: 1, maxLength: 9 }),
      ),
      (text) => {
        expect(skeleton(render(replaced(fixture, (old) => hostile(old, text)) as PageView))).toEqual(plain)
      },
    ),
    { numRuns: 12 },
  )
})

test('it has all nine operations, every endpoint of the eight groups, and each section under a heading of its own', () => {
  const html = render()

  for (const { id, method, path } of allOperations)
    expect(html).toContain(`<b>${id}</b> <span class="target">${method} ${path}</span>`)
  for (const { url } of groups.flatMap((group) => upstreamOf(group).endpoints)) expect(part('upstreams')).toContain(url)
  expect(html.match(/<h1/g)).toHaveLength(1)
  expect(html.match(/<h2 /g)).toHaveLength(Object.keys(pageSections).length - 1)
  expect(idsOf(html)).toEqual([...new Set(idsOf(html))])
})

test('the title and the head say which gateway it is, in the color that the file sets', () => {
  const headOf = (page: string) => page.match(/<title>.*<\/title>|<span id="which-gateway".*?<\/span>/g)
  const unnamed = { name: null, environment: null, color: 'gray' } as const

  expect(pageTitle(fixture)).toBe('2 wrong · production · gateway-eu-1')
  expect(headOf(render())).toEqual([
    '<title>2 wrong · production · gateway-eu-1 · lender gateway</title>',
    '<span id="which-gateway" class="instance red">production · gateway-eu-1</span>',
  ])
  expect(headOf(render({ ...fixture, status: { ...fixture.status, instance: unnamed } }))).toEqual([
    '<title>2 wrong · lender gateway</title>',
    '<span id="which-gateway" class="instance gray"></span>',
  ])
})

test('findings are grouped by what is broken, the worst first, and how many there are of each severity stands above', () => {
  const said: readonly [Severity, about: string, cause: string][] = [
    ['critical', 'upstreams.risk', 'the breaker is open'],
    ['critical', 'audit', 'the disk is full'],
    ['warning', 'upstreams.risk', 'an endpoint is slow'],
    ['warning', 'upstreams.risk.concurrency', 'the limit is full'],
    ['warning', 'operations.market.insights', 'its upstream responds with 5xx'],
    ['warning', 'config', 'the edit was rejected'],
    ['notice', 'operations.market.insights', 'the token has expired'],
    ['notice', 'clients', 'the path is not one of the nine'],
  ]
  const more = { details: [], alsoAbout: [], since: null, command: null }
  const findings = said.map(([severity, about, cause]) => ({ severity, about, cause, ...more }))

  expect(part('findings', { status: { findings } }).trim()).toBe(
    [
      'What is wrong ■ 2 critical ▲ 4 warnings ◆ 2 worth knowing',
      '■ critical Upstream risk the breaker is open',
      '▲ warning an endpoint is slow ▲ warning upstreams.risk.concurrency the limit is full',
      '■ critical The gateway itself audit the disk is full ▲ warning config the edit was rejected',
      '▲ warning Operation market.insights its upstream responds with 5xx',
      '◆ Worth knowing operations.market.insights the token has expired clients the path is not one of the nine',
    ].join(' '),
  )
})

const { limits, tokens, findings } = fixture.status
const [, applied] = fixture.reloads as [unknown, PageView['reloads'][number]]
const [first, second] = upstreamOf('valuation').endpoints as [EndpointView, EndpointView]
const [candidate] = upstreamOf('leads').endpoints as [EndpointView]
const status = (more: Partial<Status>) => ({ status: more })
const serving = (more: Partial<Status>) => status({ findings: [], ...more })
const rate = { ...(limits.rate as NonNullable<typeof limits.rate>), store: 'memory' as const }
const introspection = { error: null, since: fixture.at, lastSuccess: null, where: null }
const history = { stepSeconds: 5, perSecond: [], errorsPerSecond: [], p99Ms: [] }
const uncounted = { operations: fixture.operations.map((each) => ({ ...each, history })) }
const secret = { part: 'admin', group: null, path: 'admin.tokens.anna', from: 'operate', to: 'operate' }
const until = `${fixture.at.slice(0, 10)}T23:59:58.000Z`
const ordered = { setBy: 'anna', setAt: until, setReason: null }
const learning = { by: 'operator', enums: false, until, ...ordered } as const
const probe = { at: '2026-11-21T02:14:05Z', latencyMs: 2.1, status: 200, reason: null, ok: true }
const failedProbe = { ...probe, latencyMs: 9, status: null, reason: 'responded with 503', ok: false }
const certificate = (daysLeft: number, endsSoon: boolean) => ({ notAfter: until, seenAt: until, daysLeft, endsSoon })
const probed = withUpstream('valuation', {
  endpoints: [
    { ...first, pending: 7, lastProbe: probe, certificate: certificate(44, false) },
    { ...second, lastProbe: failedProbe, certificate: certificate(5, true) },
  ],
})
const weightless = (more: object) =>
  withUpstream('valuation', { endpoints: [{ ...first, weight: 0, state: 'draining', ...more }] })
const shadow = { ...createShadowCounts(), repeated: 0, sent: 12_000, underWay: 2 }
const next = withCandidate({ shadow, endpoints: [{ ...candidate, url: 'http://risk-next.internal:8080' }] })

test.each<[section: string, words: string | RegExp, differing?: Differing]>([
  ['findings', / critical Upstream risk http:\S+ refuses .* since 02:07:47 \(6 min\) next: lender-gateway explain /],
  ['findings', / warning The gateway itself config .*Worth knowing operations/],
  ['findings', 'Nothing is wrong.', serving({})],
  // What strangers do makes nothing wrong.
  ['findings', 'Nothing is critical, and there is no warning. ◆ Worth', status({ findings: findings.slice(2) })],
  ['summary', '● serving , ready', serving({})],
  ['summary', '▲ serving , but 1 critical'],
  ['summary', '■ not ready: audit-unavailable', serving({ notReady: 'audit-unavailable' })],
  ['summary', '■ not serving', serving({ state: 'not serving', notReady: 'no-worker' })],
  ['summary', '▲ draining', serving({ state: 'draining', notReady: 'draining' })],
  ['upstreams', '■ down connection refused 02:07:47 (6 min)'],
  ['upstreams', '▲ ejected 5 failures in a row, back in under 1 min ejected 2× since 00:14:07'],
  ['upstreams', '○ draining by oncall-anna until 02:25:47'],
  ['upstreams', 'risk ■ 0 of 2 up , p2c, breaker ■ open in 1 of 2 workers since 02:10:47 (3 min) : http://risk-a.'],
  ['upstreams', ' refuses connections (ECONNREFUSED), tried again at 02:14:11 , no retries left'],
  ['upstreams', '● up 100 75 % 6.3 0 1 7 32 ms 200 2.1 ms at 02:14:05 44 days', probed],
  ['upstreams', '▲ 19 % fail last probe: responded with 503 100 25 % 2.1 0.40 1 0 32 ms failed 9.0 ms at ', probed],
  ['upstreams', ' at 02:14:05 ▲ 5 days', probed],
  ['upstreams', /○ draining weight 0 in the file(?!.*Ready)/, weightless({})],
  ['upstreams', /by anna until .*Ready/, weightless({ drainUntil: fixture.at, setBy: 'anna' })],
  ['upstreams', 'leads, candidate ● 1 of 1 up', next],
  ['upstreams', 'copies: 12 000 sent since the start, ', next],
  ['upstreams', /^(?!.*risk, candidate)/],
  ['operations', ' 17 ms failed 2.00 s 430 ms failed 15.0 s '],
  // Idle rows are to mislead nobody.
  [
    'operations',
    '4.3 requests a second are rejected before they come to any of the nine',
    { unmatchedPerSecond: 4.25 },
  ],
  ['operations', /^(?!.*are rejected before)/, { unmatchedPerSecond: 0 }],
  ['operations', /^(?!.*are rejected before)/, { unmatchedPerSecond: null }],
  ['operations', /^(?!.*none in 15 min).*not counted yet/, uncounted],
  ['limits', 'Counted in memory, by this gateway', status({ limits: { ...limits, rate } })],
  ['clients', 'Introspection ○ not asked yet', status({ tokens: { ...tokens, introspection } })],
  ['reloads', 'admin.tokens.anna : changed, not shown', { reloads: [{ ...applied, changes: [secret] }] }],
  [
    'reloads',
    'gateway.yaml:14:7 upstreams.risk.endpoints this is not a list of endpoints ; expected a list of endpoints; found "http//risk-b:8080"; write - http://risk-b:8080',
  ],
  ['reloads', 'upstreams.market.endpoints : ["http://market-endpoints:8080"] →'],
  ['reloads', 'upstreams.market.host : not set →'],
  ['reloads', '2 more changes'],
  ['reloads', 'doubtful in the running configuration'],
  ['reloads', 'upstreams.leads.tls.verify anybody can pretend to be this upstream'],
  ['rejections', '404 not-found POST to none of the nine a slash too many at the end; probably meant'],
  ['rejections', '401 unauthenticated risk.asset-valuation the token has expired'],
  ['rejections', 'None since the start.', { rejections: [] }],
  // The lines of its chain, and not of the file that was rotated last.
  ['records', '/var/log/lender-gateway/audit.log , its chain has 120 455 lines,'],
  ['contract', 'None is configured, and none is learned.', status({ contract: null, learning: null })],
  ['contract', / risk\.asset-valuation responses body \/grade enum must be equal to .* 41 0\.2 % 9 /],
  ['contract', ' inventory.sync line 212 ◆ enforce 18 340 550 3 %, 550 rejected 12 ○ off 0 0 0 '],
  ['contract', ' leads.pipeline ▲ not in the contract ○ report '],
  ['contract', 'Learning by anna until 23:59:58 .', status({ learning })],
  ['contract', '● Nothing breaks it.', { drift: [] }],
  [
    'comparison',
    'leads : 4 120 compared, 99.7 % equal, 11 not compared (not-modified); /leads/*/grade differs in 9 (<b>A',
  ],
  ['comparison', 'in the last 5 min 312, 98.7 % equal'],
  ['comparison', / leads\.pipeline 4 120 9 11 6\.1 ms → 11 ms 12 ms → 21 ms 50 ms → 1\.25 s /],
  ['comparison', / leads\.pipeline \/leads\/\*\/grade differs <b>A<\/b>→B 7, A→C 2 9 4 .* 0192f3a4 /],
  ['comparison', 'No responses of a candidate are compared.', { comparisons: [] }],
])('the section %s says: %s', (name, words, differing) => {
  if (typeof words === 'string') expect(part(name, differing)).toContain(words)
  else expect(part(name, differing)).toMatch(words)
})

test('what can be ordered is a link, and what others wrote is text', () => {
  const page = render()
  const toUrl = (name: string) => `url=http%3A%2F%2F${name}.internal%3A8080"`

  expect(page).toContain(`href="/actions/drain?group=risk&#38;${toUrl('risk-a')}`)
  expect(page).toContain(`href="/actions/ready?group=risk&#38;${toUrl('risk-b')}`)
  expect(section('upstreams', next)).toContain(`href="/actions/drain?group=leads&#38;${toUrl('risk-next')}`)
  expect(section('upstreams', next)).toContain('id="candidate-leads-0"')
  expect(section('contract', status({ contract: null, learning: null }))).toContain('href="/actions/learn-contract"')
  expect(page).not.toContain('<b>A</b>')
})

test('a certificate is marked from the day on which it is a finding', () => {
  const marks = [14, 13, 0, -1].map((daysLeft) => {
    const certificates = [{ key: 'admin.tls', names: [], notAfter: fixture.at, daysLeft }]
    return /class="mark (\w+)"/.exec(section('certificates', { status: { certificates } }))?.[1]
  })

  expect(marks).toEqual(['good', 'warning', 'warning', 'bad'])
})

describe('an endpoint and its group', () => {
  const url = 'http://leads-a.internal:8080'
  const nextUrl = 'http://leads-next.internal:8080'
  const ago = (seconds: number): string => new Date(Date.parse(fixture.at) - seconds * 1000).toISOString()

  interface Case {
    readonly endpoint?: Partial<EndpointView>
    readonly found?: readonly FindingSubject[]
    /** Requests that ended, and failures, a second. */
    readonly pace?: readonly [all: number, failed: number]
  }

  const states = ({ endpoint = {}, found = [], pace }: Case): readonly string[] => {
    const endpoints = [{ ...(upstreamOf('leads').endpoints[0] as EndpointView), url, ...endpoint }]
    const rate = pace && { perSecond: pace[0], errorsPerSecond: pace[1] }
    const endpointRates = rate ? [{ group: 'leads', side: 'primary', url, share: 1, ...rate } as const] : []
    const html = section('upstreams', { endpointRates, found, ...withUpstream('leads', { endpoints }) })
    return [...html.matchAll(/<span class="mark \w+">.*?<\/span>([^<]*)<\/span>/g)].map(([mark]) =>
      visibleText(mark).trim().replaceAll(/ +/g, ' '),
    )
  }

  const finding = (severity: Severity, about: string, endpoint: string, alsoAbout: readonly string[] = []) =>
    ({ severity, about, endpoints: [endpoint], alsoAbout }) satisfies FindingSubject

  test('are well by the last request, or by a probe', () => {
    const well = ['● 1 of 1 up', '● up', '● 1 of 1 up', '● up']

    expect(states({})).toEqual(well)
    expect(states({ pace: [5, 0] })).toEqual(well)
    expect(states({ endpoint: { requests: 0, lastSuccess: null, lastProbe: probe } })).toEqual(well)
  })

  const failing = { failingSince: ago(60), failures: 3 }
  const untried = { requests: 3, failures: 0, lastSuccess: null }
  const ofBoth = finding('critical', 'upstreams.risk', url, ['upstreams.leads'])

  test.each<[string, Case, string, string]>([
    ['whose last request failed, long ago', { endpoint: { failingSince: ago(60) } }, '○ 1 of 1 up', '○ failed last'],
    ['that fails requests alone', { endpoint: { ...failing, lastProbe: probe } }, '○ 1 of 1 up', '○ failed last'],
    ['that clients give up on', { endpoint: { lastSuccess: ago(90) }, pace: [2, 0] }, '▲ 1 of 1 up', '▲ no success'],
    ['that clients gave up on from the first', { endpoint: untried }, '○ 1 of 1 up', '○ no success yet'],
    ['that fails a probe, and is up', { endpoint: { lastProbe: failedProbe } }, '▲ 1 of 1 up', '▲ probe fails'],
    ['that fails some requests', { pace: [10, 3] }, '▲ 1 of 1 up', '▲ 30 % fail'],
    ['that fails them all', { pace: [10, 10] }, '■ 0 of 1 up', '■ fails'],
    ['that a finding about another group names as well', { found: [ofBoth] }, '■ 0 of 1 up', '■ critical'],
  ])('one %s is not well, nor is its group', (_, given, group, endpoint) => {
    expect(states(given).slice(0, 2)).toEqual([group, endpoint])
  })

  test('on the side of the candidate are not well by its findings, and no worse by those of the primary', () => {
    const [ofCandidate, ofPrimary] = (['upstreams.leads.candidate', 'upstreams.leads'] as const).map((about) =>
      states({ found: [finding('critical', about, nextUrl)] }).join(),
    )

    expect(ofCandidate).toBe('● 1 of 1 up,● up,■ 0 of 1 up,■ critical')
    expect(ofPrimary).toMatch(/,● 1 of 1 up,● up$/)
  })
})

test('an endpoint that a group has twice is given orders once, so that no two elements have the same id', () => {
  const { candidate, endpoints } = upstreamOf('leads')
  const twice = { endpoints: [...endpoints, ...endpoints], candidate: candidate && { ...candidate, endpoints } }
  const html = section('upstreams', withUpstream('leads', twice))

  expect(html.match(/<th scope="row"/g)).toHaveLength(3)
  expect(idsOf(html)).toEqual([...new Set(idsOf(html))])
  expect(html.match(/actions\/drain/g)).toHaveLength(1)
})

describe('an operation', () => {
  const finding = (severity: Severity, about: string) => ({ severity, about, alsoAbout: [], endpoints: [] })
  const states = (...found: readonly FindingSubject[]): readonly string[] =>
    ['market.insights', 'leads.pipeline'].map((id) => {
      const html = section('operations', { found })
      const row = html.slice(html.indexOf(`id="operation-${id}"`))
      return visibleText(/<span class="mark \w+">.*?<\/span>([^<]*)<\/span>/.exec(row)?.[0] ?? '').trim()
    })

  test('is doubtful where its upstream or its candidate is critical, whatever else is said of it', () => {
    const notice = finding('notice', 'operations.market.insights')

    expect(states(notice)).toEqual(['● serves', '○ idle'])
    expect(states(notice, finding('critical', 'upstreams.market'))).toEqual(['▲ warning', '○ idle'])
    expect(states(finding('critical', 'upstreams.leads.candidate'))).toEqual(['● serves', '▲ warning'])
    expect(states(finding('warning', 'operations.market.insights.concurrency'))).toEqual(['▲ warning', '○ idle'])
  })

  test('that nothing comes to is not simply idle while the gateway itself may be why', () => {
    const idle = (severity: Severity, about: string) => states(finding(severity, about)).join()

    for (const about of ['process', 'audit']) expect(idle('critical', about)).toBe('● serves,■ see above')
    expect(idle('warning', 'listen.proxyProtocol')).toBe('● serves,▲ see above')
    expect([idle('warning', 'config'), idle('critical', 'admin.tls')]).toEqual(Array(2).fill('● serves,○ idle'))
  })
})

test('what is off or unknown is said so, and nothing is rendered as null or undefined', () => {
  const { status } = fixture
  const bare: PageView = {
    ...fixture,
    operations: fixture.operations.map((each) => ({ ...each, pace: null, history: null })),
    ...{ reloads: [], rejections: [] },
    status: {
      ...{ ...status, workers: [], certificates: [], warnings: [], clients: null, cache: null, audit: null },
      limits: { rate: null, concurrency: [], eventLoop: null },
      tokens: { jwt: null, introspection: null, operators: null, proofs: null },
      upstreams: Object.fromEntries(
        Object.entries(status.upstreams).map(([group, each]) => [group, { ...each, breaker: null, retryBudget: null }]),
      ),
    },
  }

  expect(visibleText(render(bare))).not.toMatch(/null|undefined|NaN|\[object/)
  expect(visibleText(render())).not.toMatch(/null|undefined|NaN|\[object/)
})

test.each([
  ['100 % says how it becomes the upstream', 1, false, 'up', true],
  ['25 % does not', 0.25, false, 'up', false],
  ['100 % that was taken back does not', 1, true, 'up', false],
  ['100 % that fails does not', 1, false, 'failing', false],
] as const)('a candidate with %s', (_, share, stopped, state, isSaid) => {
  const endpoints = upstreamOf('leads').endpoints.map((each) => ({ ...each, state }))
  const held = { by: null, reason: null, since: '2026-11-21T01:59:00Z', until: null, afterwards: null }
  const shift = { share, cause: 'file' as const, stopped, ...held, paused: null, step: null }

  const text = part('candidates', withCandidate({ endpoints, shift }))

  expect(text.includes('main.ts shift leads --promote --config /etc/gateway.yaml Copy')).toBe(isSaid)
})

test('an operator with a session can end it, and reads once what was done', () => {
  const principal = new Principal({ name: 'oncall-anna', scope: 'operate', proof: 'token' }, 'ab12cd34', 60_000)
  principal.setFlash('Drained http://risk-a.internal:8080.')

  const [first, second] = [render(fixture, principal), render(fixture, principal)]

  expect(first).toContain('<p class="note" role="status">Drained http://risk-a.internal:8080.</p>')
  expect(second).not.toContain('Drained http')
  expect(first).toContain('<form method="post" action="/logout">')
  expect(render()).not.toContain('<form')
})

test.each([
  ['○ nothing yet', 0, 0, 0, 0],
  ['● all equal', 5, 5, 2, 2],
  ['▲ differs', 5, 4, 2, 1],
  ['◆ differed before', 5, 4, 2, 2],
])('how a candidate responds is %s in the badge', (badge, compared, equal, recent, recentEqual) => {
  const [comparison] = fixture.comparisons
  const counts = { compared, equal, recent: { compared: recent, equal: recentEqual } }
  const one = { ...(comparison as NonNullable<typeof comparison>), ...counts, operations: [], rows: [], ways: 0 }

  expect(part('comparison', { comparisons: [one] })).toContain(badge)
})
