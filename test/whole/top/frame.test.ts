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
  ...{ id, group, method, path, failing: false },
  ...{ state: id === 'inventory.sync' ? ('refuse' as const) : ('serve' as const), until: null, orderedBy: null },
  orderedAt: null,
  orderReason: null,
  pace: {
    ...{ inFlight: n, perSecond: n === 0 ? 1234.5 : n / 4, errorsPerSecond: id === 'risk.asset-valuation' ? 2.25 : 0 },
    refusedPerSecond: 0,
    p50Ms: n === 2 ? null : 4.2 * (n + 1),
    p99Ms: n === 2 ? null : 130 * (n + 1),
    outcomes: null,
  },
  history: { stepSeconds: 5, perSecond: n % 2 === 0 ? rising : [], errorsPerSecond: [], p99Ms: [] },
}))

const down = { state: 'down', since: '2026-11-21T02:04:00.000Z', reason: 'connection refused' }

const overviewWith = (more: Partial<Overview['status']> = {}): Overview => ({
  status: {
    ...healthyStatus,
    findings: [
      {
        ...{ severity: 'critical', about: 'upstreams.risk' },
        cause: 'http://risk-a.internal:8080 refuses connections (ECONNREFUSED): 12 requests failed in the last minute',
        alsoAbout: [],
        details: [],
        since: '2026-11-21T02:04:00.000Z',
        command: 'lender-gateway explain POST /risk/asset-valuation',
      },
      {
        ...{ severity: 'warning', about: 'redis', cause: 'Redis does not answer', details: [], alsoAbout: [] },
        since: null,
        command: null,
      },
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
  ...{ operations, at: new Date(at).toISOString(), orders: [], reloads: [], drift: [], comparisons: [] },
  ...{ endpointRates: null, unmatchedPerSecond: null, promoteCommands: null, clients: null, refusals: [] },
})

const viewWith = (more: Partial<TopView> = {}): TopView => ({
  url: 'http://127.0.0.1:9901',
  overview: overviewWith(),
  at,
  stale: null,
  ...more,
})

const capsWith = (columns: number, rows: number, more: Partial<TerminalCaps> = {}): TerminalCaps => ({
  columns,
  rows,
  colour: false,
  unicode: true,
  ...more,
})

const screen = (what: TopView, how: TerminalCaps): readonly string[] =>
  cropLines(renderFrame(what, how), how.rows).map((line) => drawLine(line, how))

describe('a frame', () => {
  test.each([
    ['printed', capsWith(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)],
    ['132', capsWith(132, 50)],
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
    const findings = Array.from({ length: 50 }, (_, n) => ({
      ...{
        ...{ severity: 'warning' as const, about: `x${n}`, cause: 'something', details: [], alsoAbout: [] },
        since: null,
        command: null,
      },
    }))

    const lines = screen(viewWith({ overview: overviewWith({ findings }) }), capsWith(80, 24))

    expect(lines).toContain('43 lines more of what is wrong: status shows all')
    expect(lines.some((line) => line.startsWith('market.insights'))).toBe(true)
  })

  test('names each finding before it details one', () => {
    const finding = (about: string) => ({
      ...{ severity: 'critical' as const, about, cause: 'no endpoint serves', alsoAbout: [] },
      ...{ details: ['one', 'two', 'three', 'four'], since: null, command: 'lender-gateway tail' },
    })
    const findings = [finding('upstreams.risk'), finding('upstreams.market')]

    const lines = screen(viewWith({ overview: overviewWith({ findings }) }), capsWith(80, 24))

    expect(lines.slice(2, 10)).toEqual([
      'CRITICAL  upstreams.risk: no endpoint serves',
      '          more: lender-gateway tail',
      ...['one', 'two', 'three', 'four'].map((detail) => `          - ${detail}`),
      'CRITICAL  upstreams.market: no endpoint serves',
      '5 lines more of what is wrong: status shows all',
    ])
  })

  test('shows at the top that it is stale, for how long and why', () => {
    const stale = { seconds: 75, why: 'nothing listens at http://127.0.0.1:9901' }

    expect(screen(viewWith({ stale }), capsWith(200, 24))[1]).toBe(
      'STALE: what stands here was so 1m 15s ago; nothing listens at http://127.0.0.1:9901',
    )
  })

  test('has what needs an operator in colours, where the terminal has any', () => {
    const lines = screen(viewWith(), capsWith(200, 60, { colour: true }))
    const toneOf = (text: string): string => {
      const found = lines.find((line) => line.includes(text)) ?? ''
      return found.slice(0, found.indexOf('m') + 1)
    }

    expect(
      ['CRITICAL', 'warning', 'risk.asset-valuation  ', 'inventory.sync REFUSED', 'DOWN', 'FULL'].map(toneOf),
    ).toEqual(['\u001b[31;1m', '\u001b[33m', '\u001b[31;1m', '\u001b[33m', '\u001b[31;1m', '\u001b[31;1m'])
    expect(lines.find((line) => line.startsWith('market.insights'))).toBeDefined()
  })

  test('has a failing endpoint in the colour of one that is down', () => {
    const failing = endpointStatusWith('http://a', { state: 'failing', since: null, reason: 'no success' })
    const upstreams = { risk: upstreamStatusWith(failing) }
    const lines = screen(viewWith({ overview: overviewWith({ upstreams }) }), capsWith(200, 60, { colour: true }))

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
  test('has its highest column full, zero empty, and the newest at the right', () => {
    expect(renderSparkline([0, 1, 4, 8], 4, 4, true)).toBe(' ▁▄█')
    expect(renderSparkline([0, 1, 4, 8], 4, 4, false)).toBe(' .=@')
    expect(renderSparkline([8], 4, 4, true)).toBe('   █')
    expect(renderSparkline([], 4, 4, true)).toBe('    ')
    expect(renderSparkline([0, 0, 0, 0], 4, 4, true)).toBe('    ')
  })

  test('has as many columns as there is room for, more or fewer than values', () => {
    for (const columns of [1, 3, 7, 60, 200]) expect(renderSparkline(rising, 180, columns, true)).toHaveLength(columns)
    expect(renderSparkline([0, 0, 8, 8], 4, 2, true)).toBe(' █')
  })

  test('takes values that no gateway sends', () => {
    expect(renderSparkline([-1, 1e308, 1e308], 3, 3, true)).toHaveLength(3)
    expect(renderSparkline([Number.MAX_VALUE, Number.MAX_VALUE], 2, 1, true)).toHaveLength(1)
  })
})

describe('the capabilities of a terminal', () => {
  const tty = { isTTY: true, columns: 100, rows: 30 }

  test('depend on the terminal, NO_COLOR and the locale', () => {
    expect(detectTerminalCaps(tty, { LANG: 'en_US.UTF-8' })).toEqual({
      columns: 100,
      rows: 30,
      colour: true,
      unicode: true,
    })
    expect(detectTerminalCaps(tty, { LANG: 'C.utf8', NO_COLOR: '1' })).toMatchObject({ colour: false, unicode: true })
    expect(detectTerminalCaps(tty, { LANG: 'en_US.UTF-8', LC_ALL: 'C' })).toMatchObject({ unicode: false })
    expect(detectTerminalCaps(tty, { NO_COLOR: '' })).toMatchObject({ colour: true, unicode: false })
    expect(detectTerminalCaps(tty, { TERM: 'dumb' })).toMatchObject({ colour: false })
  })

  test('without a terminal nothing is cut, and there are no colours', () => {
    expect(detectTerminalCaps({ isTTY: false, columns: 0, rows: 0 }, { LANG: 'C.UTF-8' })).toEqual({
      ...{ columns: Number.POSITIVE_INFINITY, rows: Number.POSITIVE_INFINITY, colour: false, unicode: true },
    })
  })

  test('have the usual size when the terminal reports none', () => {
    expect(detectTerminalCaps({ isTTY: true, columns: 0, rows: 0 }, {})).toMatchObject({ columns: 80, rows: 24 })
  })
})
