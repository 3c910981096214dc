import { describe, expect, test } from 'vitest'
import type { Overview } from '../../../src/core/admin/admin-part.ts'
import { cropLines, renderFrame, renderSparkline, type TopView } from '../../../src/features/top/frame.ts'
import { detectTerminalCaps, drawLine, type TerminalCaps } from '../../../src/features/top/screen.ts'
import { allOperations } from '../../../src/operations.ts'
import { endpointStatusWith, healthyStatus, upstreamStatusWith } from '../../core/cli/status-fixtures.ts'
import { expectGolden } from '../../golden/golden.ts'

const at = Date.parse('2026-11-21T02:05:00Z')

const rising = Array.from({ length: 90 }, (_, i) => (i < 45 ? 0 : i / 3))

const operations = allOperations.map(({ id, group, method, path }, n) => ({
  ...{ id, group, method, path, failing: false, until: null, setBy: null, setAt: null, setReason: null },
  state: id === 'inventory.sync' ? ('reject' as const) : ('serve' as const),
  pace: {
    ...{ inFlight: n, perSecond: n === 0 ? 1234.5 : n / 4, errorsPerSecond: id === 'risk.asset-valuation' ? 2.25 : 0 },
    ...{ rejectedPerSecond: 0, outcomes: null },
    ...{ p50Ms: n === 2 ? null : 4.2 * (n + 1), p99Ms: n === 2 ? null : 130 * (n + 1) },
  },
  history: { stepSeconds: 5, perSecond: n % 2 === 0 ? rising : [], errorsPerSecond: [], p99Ms: [] },
}))

const finding = (severity: 'critical' | 'warning', about: string, cause: string, more: object = {}) => ({
  ...{ severity, about, cause, alsoAbout: [], details: [], since: null, command: null },
  ...more,
})

const rejects = 'http://risk-a.internal:8080 refuses connections (ECONNREFUSED): 12 requests failed in the last minute'
const command = 'lender-gateway explain POST /risk/asset-valuation'

const down = { state: 'down', since: '2026-11-21T02:04:00.000Z', reason: 'connection refused' }

const overviewWith = (more: Partial<Overview['status']> = {}): Overview => ({
  status: {
    ...healthyStatus,
    findings: [
      finding('critical', 'upstreams.risk', rejects, { since: '2026-11-21T02:04:00.000Z', command }),
      finding('warning', 'redis', 'Redis does not reply'),
    ],
    upstreams: {
      valuation: upstreamStatusWith(endpointStatusWith('sandbox', { sandbox: true })),
      risk: upstreamStatusWith(
        endpointStatusWith('http://risk-a.internal:8080', down),
        endpointStatusWith('http://risk-b.internal:8080'),
      ),
    },
    limits: { ...healthyStatus.limits, concurrency: [{ key: 'limits.concurrency', inFlight: 10, limit: 10 }] },
    ...more,
  },
  ...{ operations, at: new Date(at).toISOString(), commands: [], reloads: [], drift: [], comparisons: [] },
  ...{ endpointRates: null, unmatchedPerSecond: null, promoteCommands: null, clients: null, rejections: [] },
})

const viewWith = (more: Partial<TopView> = {}): TopView => ({
  ...{ url: 'http://127.0.0.1:9901', overview: overviewWith(), at, stale: null },
  ...more,
})

const capsWith = (columns: number, rows: number, more: Partial<TerminalCaps> = {}): TerminalCaps => ({
  ...{ columns, rows, color: false, unicode: true },
  ...more,
})

const screen = (what: TopView, how: TerminalCaps): readonly string[] =>
  cropLines(renderFrame(what, how), how.rows).map((line) => drawLine(line, how))

describe('a frame', () => {
  test.each([
    ['printed', capsWith(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)],
    ['80', capsWith(80, 40)],
    ['40-ascii', capsWith(40, 24, { unicode: false })],
  ])('%s', (name, how) => {
    const lines = screen(viewWith(), how)

    expectGolden(`top-${name}.txt`, `${lines.join('\n')}\n`)
    expect(Math.max(...lines.map((line) => [...line].length))).toBeLessThanOrEqual(how.columns)
    expect(lines.length).toBeLessThanOrEqual(how.rows)
  })

  test.each([1, 2, 3, 5, 10, 24])('has at most %i lines', (rows) => {
    const lines = screen(viewWith(), capsWith(20, rows))

    expect(lines).toHaveLength(rows)
    for (const line of lines) expect([...line].length).toBeLessThanOrEqual(20)
    if (rows > 1) expect(lines[0]).toMatch(/^lender-gateway/)
  })

  test('leaves room for the nine operations, however many findings there are', () => {
    const findings = Array.from({ length: 50 }, (_, n) => finding('warning', `x${n}`, 'something'))

    const lines = screen(viewWith({ overview: overviewWith({ findings }) }), capsWith(80, 24))

    expect(lines).toContain('43 more lines of findings: status shows all')
    expect(lines.some((line) => line.startsWith('market.insights'))).toBe(true)
  })

  test('names each finding before it details one', () => {
    const more = { details: ['one', 'two', 'three', 'four'], command: 'lender-gateway tail' }
    const abouts = ['upstreams.risk', 'upstreams.market']
    const findings = abouts.map((about) => finding('critical', about, 'no endpoint serves', more))

    const lines = screen(viewWith({ overview: overviewWith({ findings }) }), capsWith(80, 24))

    expect(lines.slice(2, 10)).toEqual([
      'CRITICAL  upstreams.risk: no endpoint serves',
      '          more: lender-gateway tail',
      ...['one', 'two', 'three', 'four'].map((detail) => `          - ${detail}`),
      'CRITICAL  upstreams.market: no endpoint serves',
      '5 more lines of findings: status shows all',
    ])
  })

  test('shows at the top that it is stale, for how long and why', () => {
    const stale = { seconds: 75, why: 'nothing listens at http://127.0.0.1:9901' }

    expect(screen(viewWith({ stale }), capsWith(200, 24))[1]).toBe(
      'STALE for 1m 15s: nothing listens at http://127.0.0.1:9901',
    )
  })

  test('has what needs an operator in colors, where the terminal has any', () => {
    const lines = screen(viewWith(), capsWith(200, 60, { color: true }))
    const toneOf = (text: string): string => {
      const found = lines.find((line) => line.includes(text)) ?? ''
      return found.slice(0, found.indexOf('m') + 1)
    }

    for (const words of ['CRITICAL', 'risk.asset-valuation  ', 'DOWN', 'FULL'])
      expect(toneOf(words)).toBe('\u001b[31;1m')
    for (const words of ['warning', 'inventory.sync REJECTED']) expect(toneOf(words)).toBe('\u001b[33m')
    expect(lines.find((line) => line.startsWith('market.insights'))).toBeDefined()
  })

  test('has a failing endpoint in the color of one that is down', () => {
    const failing = endpointStatusWith('http://a', { state: 'failing', since: null, reason: 'no success' })
    const overview = overviewWith({ upstreams: { risk: upstreamStatusWith(failing) } })
    const lines = screen(viewWith({ overview }), capsWith(200, 60, { color: true }))

    expect(lines.find((line) => line.includes('FAILING: no success'))).toMatch(/^\S*31;1m/)
  })

  test('shows a gateway without metrics', () => {
    const uncounted = operations.map((each) => ({ ...each, pace: null, history: null }))

    const lines = screen(viewWith({ overview: { ...overviewWith(), operations: uncounted } }), capsWith(100, 40))

    expect(lines.find((line) => line.startsWith('market.insights'))).toMatch(/^market\.insights +- +- +- +- +- +-$/)
    expect(lines.join('\n')).not.toContain('last 15 min')
  })
})

describe('a chart', () => {
  test.each([
    [[0, 1, 4, 8], 4, 4, ' ▁▄█'],
    [[8], 4, 4, '   █'],
    [[], 4, 4, '    '],
    [[0, 0, 0, 0], 4, 4, '    '],
    [[0, 0, 8, 8], 4, 2, ' █'],
    // No gateway sends those.
    [[-1, 1e308, 1e308], 3, 3, expect.stringMatching(/^...$/)],
    [[Number.MAX_VALUE, Number.MAX_VALUE], 2, 1, expect.stringMatching(/^.$/)],
  ])('has its highest column full, zero empty, and the newest at the right: %j', (values, steps, columns, drawn) => {
    expect(renderSparkline(values, steps, columns, true)).toEqual(drawn)
  })

  test('has other characters without Unicode, and as many columns as there is room for', () => {
    expect(renderSparkline([0, 1, 4, 8], 4, 4, false)).toBe(' .=@')
    for (const columns of [1, 3, 7, 60, 200]) expect(renderSparkline(rising, 180, columns, true)).toHaveLength(columns)
  })
})

test.each([
  [{}, { LANG: 'en_US.UTF-8' }, { columns: 100, rows: 30, color: true, unicode: true }],
  [{}, { LANG: 'C.utf8', NO_COLOR: '1' }, { color: false, unicode: true }],
  [{}, { LANG: 'en_US.UTF-8', LC_ALL: 'C' }, { unicode: false }],
  [{}, { NO_COLOR: '' }, { color: true, unicode: false }],
  [{}, { TERM: 'dumb' }, { color: false }],
  [{ isTTY: false }, { LANG: 'C.UTF-8' }, { columns: Infinity, rows: Infinity, color: false, unicode: true }],
  [{ columns: 0, rows: 0 }, {}, { columns: 80, rows: 24 }],
])('the capabilities of a terminal %j depend on it, NO_COLOR and the locale: %j', (more, environment, caps) => {
  expect(detectTerminalCaps({ isTTY: true, columns: 100, rows: 30, ...more }, environment)).toMatchObject(caps)
})
