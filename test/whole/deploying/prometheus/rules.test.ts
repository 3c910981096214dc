/** The rules and the configuration for Prometheus that are shipped, as Prometheus itself sees them. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { allFailureKinds, failureTable } from '../../../../src/core/exchange/failures/failure-table.ts'
import { expiryWarningDays } from '../../../../src/core/lib/certificate-expiry.ts'
import { lowDisk } from '../../../../src/features/audit/disk-space.ts'
import { fullCommandLine } from '../../../helpers/command-line.ts'
import { needProgram } from '../../../helpers/program.ts'
import { drill, test } from '../../../helpers/speed.ts'
import { at, documentsOf, examples, read, root, scratch, type Tree } from '../files.ts'
import { breaker, cases, endpoint, of, type Series } from './cases.ts'
import { expressions, marks, runbooks } from './dashboard.ts'

const promtool = await needProgram('promtool')

const folder = join(root, examples, 'prometheus')

const run = (...args: readonly string[]) =>
  new Promise<{ readonly code: number; readonly output: string }>((resolve) => {
    execFile(promtool.path ?? '', args, { cwd: folder }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : 1, output: stdout + stderr }),
    )
  })

const groups = documentsOf(read(`${examples}/prometheus/alerts.yml`)).flatMap(
  (document) => at(document, 'groups') as readonly Tree[],
)
const rulesOf = (group: Tree) => at(group, 'rules') as readonly Tree[]

/** Lists the alerts that are shipped. */
const alerts = groups.flatMap(rulesOf).filter((rule) => 'alert' in rule)

test('each alert has a case, and each case an alert', () => {
  expect(cases.map(({ alert }) => alert)).toEqual(alerts.map(({ alert }) => alert))
})

test('certificates are warned of as early as findings, status and the page do', () => {
  const expiries = alerts.map(({ expr }) => String(expr)).filter((expr) => expr.includes('not_after'))

  expect(expiries.map((expr) => expr.split(' < ')[1])).toEqual(Array(2).fill(`${expiryWarningDays} * 86400`))
})

test('a disk of the audit log is low for the alert when it is for findings and for the log', () => {
  const { share, bytes, seconds } = lowDisk
  const expr = String(alerts.find(({ alert }) => alert === 'LenderGatewayAuditDiskLow')?.expr)

  expect(expr).toContain(`free_bytes < ${bytes / 2 ** 30} * 2 ^ 30\n`)
  expect(expr).toContain(`size_bytes < ${share}\n`)
  expect(expr).toContain(`free_bytes[1h], ${seconds}) < 0\n`)
})

test('no rule and no panel takes a 5xx for what a client did as an error', () => {
  const ofClients = allFailureKinds.filter(
    (kind) => failureTable[kind].fault === 'client' && failureTable[kind].status >= 500,
  )
  const all = [read(`${examples}/prometheus/alerts.yml`), ...expressions('1m').map(({ expression }) => expression)]
  const selectors = [...all.join('\n').matchAll(/lender_gateway_requests_total{[^}]*status_class="5xx"[^}]*}/g)]

  expect(selectors.length).toBeGreaterThan(5)
  for (const [selector] of selectors) expect(selector).toContain(`failure!~"${ofClients.join('|')}"`)
})

test('each alert leads to a section of docs/operating.md, by an address that one edit sets in all of them', () => {
  const headings = [...read('docs/operating.md').matchAll(/^### (LenderGateway\w+)$/gm)].map(([, name]) => name)

  expect(headings).toEqual(alerts.map(({ alert }) => alert))
  for (const rule of alerts)
    expect(at(rule, 'annotations', 'runbook_url')).toBe(`${runbooks}/operating.md#${String(rule.alert).toLowerCase()}`)
  const [, before, after] =
    /sed -i 's\|(\S+?)\|(\S+?)\|' alerts\.yml/.exec(read(`${examples}/prometheus/alerts.yml`)) ?? []
  expect([before, after]).toEqual([runbooks, expect.stringMatching(/^https:.*\.example\.net\/.*docs$/)])
})

test('each alert says how bad it is, what is wrong, and a command that there is, with options that it has', () => {
  const { commands } = fullCommandLine()
  for (const alert of alerts) {
    const line = String(at(alert, 'annotations', 'command'))
    const [, name, args = ''] = /^lender-gateway ([a-z]+)(.*)$/.exec(line) ?? []
    const options = commands.find((each) => each.name() === name)?.options.map(({ long }) => long)

    expect(['critical', 'warning']).toContain(at(alert, 'labels', 'severity'))
    expect(Object.keys(at(alert, 'annotations') as Tree)).toEqual(['summary', 'description', 'command', 'runbook_url'])
    expect(options).toEqual(expect.arrayContaining(args.match(/--\S+/g) ?? []))
  }
})

describe.skipIf(promtool.missing)('promtool', () => {
  test('takes the configuration, and the rules that it names', async () => {
    const { code, output } = await run('check', 'config', 'prometheus.yml')

    expect({ code, output }).toMatchObject({ code: 0 })
    expect(output).toContain('1 rule files found')
  })

  test('takes what docs/metrics.md shows of it', async () => {
    const [, shown = ''] = read('docs/metrics.md').split('```yaml\n')
    const folder = scratch({ 'prometheus.yml': shown.split('```')[0] ?? '' })

    const { code, output } = await run('check', 'config', '--syntax-only', join(folder, 'prometheus.yml'))

    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('is valid') })
  })

  test('takes every expression of the dashboard, and of its marks', async () => {
    const all = [...expressions('1m'), ...marks].map(({ expression: expr }, n) => ({ record: `job:panel:${n}`, expr }))
    const folder = scratch({ 'panels.json': JSON.stringify({ groups: [{ name: 'dashboard', rules: all }] }) })

    expect(await run('check', 'rules', join(folder, 'panels.json'))).toMatchObject({ code: 0 })
    expect(all.length).toBeGreaterThan(80)
  })

  test('fires each alert in its time, and not before', async () => {
    const ill = cases.map(({ alert, bad: series, waits, fires }) => ({
      series,
      alone: alert,
      tests: [...(waits === null ? [] : [expects(firing(alert), waits)]), expects(firing(alert), fires, '{}')],
    }))

    expect(await evaluate([...ill, fullWithinADay, takeback, ...outOfPrimary])).toMatchObject({ code: 0 })
  })

  drill('fires nothing at all while all is well', async () => {
    const calm = cases.map(({ good: series, fires }) => {
      const minutes = 2 * fires + 5
      return { series, tests: [expects(`count_over_time(ALERTS{alertstate="firing"}[${minutes}m])`, minutes)] }
    })

    expect(await evaluate(calm)).toMatchObject({ code: 0 })
  })
})

// One of them stands for all: what it is about is in its labels.
const firing = (alert: string): string => `group(ALERTS{alertname="${alert}", alertstate="firing"})`

/** Says which series an expression has at a minute, each at 1. */
const expects = (expr: string, minute: number, ...series: readonly string[]): Tree => ({
  ...{ expr, eval_time: `${minute}m` },
  exp_samples: series.map((labels) => ({ labels, value: 1 })),
})

/** A gateway responds, in each case that does not say otherwise. */
const responding = { 'up{job="lender-gateway", instance="a:9901"}': '1+0x200' }

interface Gateway {
  readonly series: Series
  readonly tests: readonly Tree[]
  /** The one alert that the tests are about: the others are left out, for they take most of the time. */
  readonly alone?: string
}

/** Returns the groups with one alert of all, and with what is recorded where its expression reads that. */
const groupsFor = (alone: string): readonly Tree[] => {
  const recorded = /\bjob:/.test(String(alerts.find(({ alert }) => alert === alone)?.expr))
  const isNeeded = (rule: Tree) => (recorded && 'record' in rule) || rule.alert === alone
  return groups.map((group) => ({ ...group, rules: rulesOf(group).filter(isNeeded) }))
}

/** Runs promtool over each of several gateways for a time, and checks which alerts fire. */
const evaluate = (each: readonly Gateway[]) => {
  const files = each.flatMap(({ series, tests: promql_expr_test, alone }, n) => {
    const input_series = Object.entries({ ...responding, ...series }).map(([name, values]) => ({
      series: name,
      values,
    }))
    const tests = [{ interval: '1m', input_series, promql_expr_test }]
    const rules = { groups: alone === undefined ? groups : groupsFor(alone) }
    return [
      [`rules-${n}.json`, JSON.stringify(rules)],
      [`tests-${n}.json`, JSON.stringify({ rule_files: [`rules-${n}.json`], evaluation_interval: '1m', tests })],
    ]
  })
  const folder = scratch(Object.fromEntries(files))
  return run('test', 'rules', ...each.map((_, n) => join(folder, `tests-${n}.json`)))
}

const diskLow = firing('LenderGatewayAuditDiskLow')

/** The disk of the audit log is full within a day: it fires once there is half an hour of its pace, 0.96e9 an hour. */
const fullWithinADay = {
  series: { [of('audit_disk_size_bytes')]: '20e9+0x200', [of('audit_disk_free_bytes')]: '13e9-16e6x200' },
  tests: [expects(diskLow, 34), expects(diskLow, 36, '{}')],
}

const takenBack = of('candidate_taken_back', 'group="risk"')
const mark = marks.find(({ name }) => name === 'Takebacks')?.expression ?? ''

/** The mark of a takeback is there when it happens, and not for as long as it lasts. */
const takeback = {
  series: { [takenBack]: '0x4 1x10' },
  tests: [expects(mark, 4), expects(mark, 5, takenBack), expects(mark, 7)],
}

const countOfEach = 'count by (alertname) (ALERTS{alertstate="firing"})'

/** A primary is out: what fires depends on the share of its clients on a candidate, and on whether that is up. */
const outOfPrimary = [
  { share: 1, up: 1, fired: [] },
  { share: 1, up: 0, fired: ['LenderGatewayGroupDown'] },
  { share: 0.99, up: 1, fired: ['LenderGatewayBreakerOpen', 'LenderGatewayGroupDown'] },
].map(({ share, up, fired }) => ({
  series: {
    [endpoint('http://a:1', 'up')]: '0+0x20',
    [endpoint('http://a:1', 'up', 'candidate')]: `${up}+0x20`,
    [of('candidate_share', 'group="risk"')]: `${share}+0x20`,
    [breaker('open')]: '1+0x20',
  },
  tests: [expects(countOfEach, 9, ...fired.map((alertname) => `{alertname="${alertname}"}`))],
}))
