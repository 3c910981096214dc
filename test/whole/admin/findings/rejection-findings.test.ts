import { describe, expect, test } from 'vitest'
import type { RecentError } from '../../../../src/core/log/recent-errors.ts'
import type { OperationId } from '../../../../src/operations.ts'
import { at, cause } from '../../../core/admin/findings/finding-inputs.ts'
import { asset, expectFindings, explain, found, type Inputs, type Row, trafficOf } from './helper.ts'

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

test.each<[string, Inputs, string]>([
  ['clients', { causes: [cause({ kind: 'unauthenticated', endpoint: null })] }, 'tail --rejected --since 15m'],
  ['bodies', { causes: [overloaded('buffered-bodies')] }, 'tail --rejected --since 15m'],
  ['a full limit', { ...concurrency(3), ...rejectedByLimit }, explain],
])('a command shows what is wrong with %s', (_, inputs, command) => {
  expect(found(inputs)).toMatchObject([{ command: `lender-gateway ${command}` }])
})
