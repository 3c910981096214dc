import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { quantile } from '../../../../src/core/log/metrics/histogram.ts'
import { ClientActivity, mergeClientActivity } from '../../../../src/features/auth/client-activity.ts'
import { exchangeRecord } from '../../../core/log/exchange-record.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-23T10:00:00Z') }))
afterEach(() => void vi.useRealTimers())

const later = (ms: number) => vi.setSystemTime(Date.now() + ms)
const minute = 60_000

/** Serves a request of a client; null: it came without a credential. */
const serve = (
  activity: ClientActivity,
  client: string | null,
  status = 200,
  { totalMs = 10, keyId = 'key-1' } = {},
) => {
  const identity = client === null ? null : { client, method: 'apiKey' as const, keyId }
  activity.record(exchangeRecord({ status, totalMs, identity }))
}

const rowsOf = ({ report }: Pick<ClientActivity, 'report'>) =>
  report.rows.map(({ client, counts: { requests, failed, limited, rejected } }) =>
    [client, requests, failed, limited, rejected].join(' '),
  )

test('requests are counted by client and by how they went, the client that fares worst first', () => {
  const activity = new ClientActivity()
  serve(activity, null, 401)
  for (const status of [200, 204, 404]) serve(activity, 'bank-a', status)
  for (const status of [200, 429, 429, 403]) serve(activity, 'bank-b', status)
  for (const status of [200, 502]) serve(activity, 'bank-c', status)

  expect(rowsOf(activity)).toEqual(['bank-c 2 1 0 0', 'bank-b 4 0 2 1', 'bank-a 3 0 0 1'])
  expect(activity.report.isComplete).toBe(true)
})

test.each([
  [200, 'truncated', 'bank-a 1 1 0 0'],
  [499, 'client-gone', 'bank-a 1 0 0 1'],
  [504, 'not-cached', 'bank-a 1 0 0 1'], // what the client asked
  [504, 'headers-timeout', 'bank-a 1 1 0 0'],
] as const)('a response %i that ended as %s counts as %s', (status, kind, row) => {
  const activity = new ClientActivity()
  const identity = { client: 'bank-a', method: 'apiKey' as const, keyId: 'key-1' }
  activity.record(exchangeRecord({ status, failure: new GatewayError(kind), identity }))

  expect(rowsOf(activity)).toEqual([row])
})

test('what is older than fifteen minutes counts no more, minute by minute, and leaves with its client', () => {
  const activity = new ClientActivity()
  serve(activity, 'bank-a', 500)
  later(10 * minute)
  serve(activity, 'bank-a')

  later(5 * minute)
  const after15 = rowsOf(activity)
  later(10 * minute)

  expect([after15, rowsOf(activity)]).toEqual([['bank-a 1 0 0 0'], []])
})

test('a client leaves with its last slice, and never stands there with nothing', () => {
  const activity = new ClientActivity()
  later(30_000)
  serve(activity, 'bank-a')

  later(14 * minute + 29_000)
  const before = rowsOf(activity)
  later(1000)

  expect([before, rowsOf(activity)]).toEqual([['bank-a 1 0 0 0'], []])
})

test('a clock that is put back keeps no client for ever', () => {
  const activity = new ClientActivity()
  serve(activity, 'bank-a')
  later(-60 * minute)
  serve(activity, 'bank-b')

  expect(rowsOf(activity)).toEqual(['bank-b 1 0 0 0'])
})

test('a slice that comes around again begins at 0', () => {
  const activity = new ClientActivity()
  for (let n = 0; n < 40; n++) {
    serve(activity, 'bank-a')
    later(minute)
  }
  later(-minute)

  expect(rowsOf(activity)).toEqual(['bank-a 15 0 0 0'])
})

test('the latency is of the same requests, and the key is that of the last', () => {
  const activity = new ClientActivity()
  for (let i = 0; i < 98; i++) serve(activity, 'bank-a')
  for (let i = 0; i < 2; i++) serve(activity, 'bank-a', 200, { totalMs: 900, keyId: 'new' })

  const [row] = activity.report.rows
  const latency = row?.latency ?? { counts: [], sumMs: 0 }

  expect([quantile(latency, 0.5), quantile(latency, 0.99)]).toEqual([expect.closeTo(9, 0), expect.closeTo(900, -2)])
  expect(row).toMatchObject({ latency: { sumMs: 98 * 10 + 2 * 900 }, keyId: 'new', lastAt: Date.now() })
})

test('500 clients are followed, and a new one finds room when others have left', () => {
  const activity = new ClientActivity()
  for (let n = 0; n < 501; n++) serve(activity, `bank-${n}`)
  const full = activity.report
  later(15 * minute)
  serve(activity, 'bank-500')

  expect([full.isComplete, full.rows.length, rowsOf(activity)]).toEqual([false, 500, ['bank-500 1 0 0 0']])
  expect(activity.report.isComplete).toBe(true)
})

test('a client that fares badly takes the place of one that fares well, and not of one like it', () => {
  const activity = new ClientActivity()
  for (let n = 0; n < 499; n++) serve(activity, `bad-${n}`, 502)
  serve(activity, 'well')

  for (const late of ['late-1', 'late-2']) serve(activity, late, 502)
  const clients = activity.report.rows.map(({ client }) => client)

  expect([clients.length, ...['late-1', 'late-2', 'well'].map((each) => clients.includes(each))]).toEqual([
    ...[500, true, false, false],
  ])
})

test('what several processes have seen of a client is one row, with the key that came last', () => {
  const [one, other] = [new ClientActivity(), new ClientActivity()]
  serve(one, 'bank-a', 200, { keyId: 'old' })
  later(1000)
  serve(other, 'bank-a', 503, { keyId: 'new' })
  serve(other, 'bank-b')

  const merged = mergeClientActivity([one.report, other.report])

  expect(rowsOf({ report: merged })).toEqual(['bank-a 2 1 0 0', 'bank-b 1 0 0 0'])
  expect(merged.rows[0]).toMatchObject({ keyId: 'new', lastAt: Date.now(), latency: { sumMs: 20 } })
  expect(merged.isComplete).toBe(true)
})

test('of hundreds of clients in several processes each is counted in full', () => {
  const each = [new ClientActivity(), new ClientActivity()]
  for (const [place, activity] of each.entries())
    for (let n = 0; n < 300; n++) {
      later(place === 0 ? 1 : -1) // whoever came last stands first, in one process and not in the other
      serve(activity, `bank-${n}`)
    }

  const { rows } = mergeClientActivity(each.map(({ report }) => report))

  expect(rows.map(({ counts }) => counts.requests)).toEqual(new Array(300).fill(2))
})
