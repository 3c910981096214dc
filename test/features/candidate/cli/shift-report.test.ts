import { expect, test } from 'vitest'
import { createShadowCounts } from '../../../../src/features/candidate/layers/shadow-copies.ts'
import { zeroDifferences, zeroUncompared } from '../../../../src/features/candidate/observe/shadow-kinds.ts'
import type { ComparisonView } from '../../../../src/features/candidate/status/describe-comparison.ts'
import { jsonResponse, runCommand, scriptedAdmin, token } from '../../../core/cli/scripted-admin.ts'
import { endpointStatusWith, healthyStatus, upstreamStatusWith } from '../../../core/cli/status-fixtures.ts'

const times = { firstAt: '2026-11-21T01:05:00.000Z', lastAt: '2026-11-21T02:04:58.000Z' }

const pair = (count: number, requestId: string, values: readonly [string, string] | null = null) => ({
  ...{ digest: `d${count}`, count, requestId },
  ...{ primary: values?.[0] ?? null, candidate: values?.[1] ?? null },
})

const row = (pointer: string, count: number, more: Partial<ComparisonView['rows'][number]>) => ({
  ...{ operation: 'risk.asset-valuation', kind: 'value', pointer, count, recent: 0, requestId: 'r-1', ...times },
  ...{ noise: 0, pairs: [], otherPairs: 0 },
  ...more,
})

const copies = createShadowCounts()
const shadow = { ...copies, sent: 4120, underWay: 0, repeated: 41, outcomes: { ...copies.outcomes, '2xx': 4120 } }
const counts = { compared: 4120, equal: 4111, recent: { compared: 312, equal: 312 } }

const comparison = {
  ...{ group: 'risk', verdict: '4120 compared, 99.7 % equal; /grade differs in 9', since: times.firstAt },
  ...{ ...counts, shadow, ways: 204, others: 100 },
  operations: [
    {
      ...{ operation: 'risk.asset-valuation', ...counts, byKind: zeroDifferences },
      ...{ uncompared: { ...zeroUncompared, coded: 3 }, noisePairs: 46, noisePairsMissing: 0 },
      latency: { primary: { p50: 6.1, p95: 12.3, p99: 50.4 }, candidate: { p50: 11, p95: 21, p99: null } },
    },
  ],
  rows: [
    row('/grade', 9, { pairs: [pair(7, 'r-2'), pair(2, 'r-3')], noise: 1 }),
    row('/score', 5, { pairs: [pair(5, 'r-4')], recent: 5 }),
    row('/id', 20, { pairs: Array.from({ length: 8 }, (_, n) => pair(1, `r-${n}`)), otherPairs: 12 }),
    row('', 2, { kind: 'status', pairs: [pair(2, 'r-5', ['200', '500'])], otherPairs: 1 }),
  ],
  noise: [{ operation: 'risk.asset-valuation', kind: 'value', pointer: '/generatedAt', count: 7, of: 46 }],
}

const run = async (body: unknown, ...args: readonly string[]) => {
  const admin = await scriptedAdmin(jsonResponse(body))
  const { code, out, err } = await runCommand([...args, '--admin', admin.url], { LENDER_GATEWAY_ADMIN_TOKEN: token })
  return { code, out, err: err.replaceAll(admin.url, 'http://gateway'), received: admin.received }
}

const report = { at: '2026-11-21T02:05:00.000Z', comparisons: [comparison] }

test('shift report prints the verdict, both latencies, each difference, and the noise', async () => {
  const { code, out, received } = await run(report, 'shift', 'report', 'risk')

  expect([code, received.map(({ request }) => request)]).toEqual([0, ['GET /shadow']])
  expect(out).toBe(`the candidate of risk: 4120 compared, 99.7 % equal; /grade differs in 9
since 2026-11-21T01:05:00Z, 1h ago; in the last 5 minutes 312, all equal
copies since the start: 4120 sent (4120 2xx)

operation             compared  equal  differ  not compared  p50          p95           p99
risk.asset-valuation  4120      4111   9       3 coded       6.1 → 11 ms  12.3 → 21 ms  -

risk.asset-valuation: /grade differs in 9, 0 of them in the last 5 minutes
  since 2026-11-21T01:05:00Z, 1h ago; last 2026-11-21T02:04:58Z, 2s ago, request r-1
  in 1 of the primary's own pairs too: too rarely to be noise
  2 pairs of values, the most frequent 7 times: compare the requests r-2, r-3
risk.asset-valuation: /score differs in 5, all of them in the last 5 minutes
  since 2026-11-21T01:05:00Z, 1h ago; last 2026-11-21T02:04:58Z, 2s ago, request r-1
  always the same two values
risk.asset-valuation: /id differs in 20, 0 of them in the last 5 minutes
  since 2026-11-21T01:05:00Z, 1h ago; last 2026-11-21T02:04:58Z, 2s ago, request r-1
  the values differ each time, as times and ids do: compare.ignore leaves such a place out
risk.asset-valuation: the status differs in 2, 0 of them in the last 5 minutes
  since 2026-11-21T01:05:00Z, 1h ago; last 2026-11-21T02:04:58Z, 2s ago, request r-1
  200→500 2 times, last in request r-5
  once another pair

and 100 more differences, not listed: the table is full

noise, not compared, because two responses of the primary to one request differ there:
  risk.asset-valuation: /generatedAt differs in 7 of 46
`)
})

const shift = {
  ...{ share: 0, cause: 'guard', stopped: true, by: null, reason: '41 % failed', since: '2026-11-21T02:03:00.000Z' },
  ...{ until: null, afterwards: null, paused: null, step: null },
}

/** Makes what a gateway responds to both requests of the command, with such a candidate of `group`. */
const withCandidate = (group: string, more: object | null) => {
  const endpoint = endpointStatusWith('http://risk-next.internal:8080')
  const { retryBudget, candidate: _, ...side } = upstreamStatusWith(endpoint)
  const candidate = more && { ...side, shadow, comparison: null, shift, ...more }
  const upstreams = { ...healthyStatus.upstreams, [group]: { ...side, retryBudget, candidate } }
  return { ...healthyStatus, ...report, upstreams }
}

const key = 'upstreams.market.candidate'

test.each([
  ['no candidate', null, `market has no candidate: write ${key} in the file`],
  ['no shadow', { shadow: null }, `nothing is copied to the candidate of market: write ${key}.shadow in the file`],
  ['no comparison', {}, `responses of the candidate of market are not compared: ${key}.shadow.compare is none`],
])('a group with %s ends with 1, and stderr names the key', async (_, candidate, words) => {
  const { code, out, err } = await run(withCandidate('market', candidate), 'shift', 'report', 'market')

  expect([code, out]).toEqual([1, ''])
  expect(err).toContain(`lender-gateway: http://gateway: ${words}\n`)
})

test('shift report says why nothing is compared', async () => {
  const idle = { ...comparison, recent: { compared: 0, equal: 0 } }
  const { code, out } = await run({ ...withCandidate('risk', {}), comparisons: [idle] }, 'shift', 'report', 'risk')

  expect(code).toBe(0)
  expect(out).toContain(`; in the last 5 minutes nothing
nothing is copied now: the candidate gets nothing: taken back at 2026-11-21T02:03:00Z, 2m ago (41 % failed); until an operator resumes it, or the candidate's part of the file changes
copies since the start: 4120 sent`)
})

test('shift report --format json prints the entry of the group, with the time', async () => {
  const { code, out } = await run(report, 'shift', 'report', 'risk', '--format', 'json')

  const rows = [{ pointer: '/grade' }, {}, {}, {}]
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({ at: report.at, group: 'risk', compared: 4120, rows })
})

test('shift report takes options before its name, and rejects those of commands', async () => {
  const admin = await scriptedAdmin(jsonResponse(report))
  const elsewhere = await runCommand(['shift', '--admin', admin.url, 'report', 'risk', '--format', 'json'])
  const commandedBefore = await run(report, 'shift', '--to', '25%', 'report', 'risk')
  const before = await run(report, 'shift', '--format', 'json', 'report', 'risk')
  const commanded = await run(report, 'shift', 'report', 'risk', '--to', '5%')

  expect(JSON.parse(before.out)).toMatchObject({ group: 'risk' })
  expect([elsewhere.code, admin.received.length]).toEqual([0, 1])
  expect([commandedBefore.code, commandedBefore.received]).toEqual([2, []])
  expect(commandedBefore.err).toBe("lender-gateway: shift report has no option '--to <SHARE>'\n")
  expect([commanded.code, commanded.received]).toEqual([2, []])
  expect(commanded.err).toContain("unknown option '--to'")
})
