import { expect, test } from 'vitest'
import type { RefusalStatus } from '../../../src/cli/gateway/refusals-answer.ts'
import { Follow } from '../../../src/cli/gateway/tail/follow.ts'

const refusal = (n: number, operation: string | null = 'market.insights'): RefusalStatus => ({
  at: new Date(n).toISOString(),
  requestId: `r${n}`,
  client: '192.0.2.7',
  clientId: null,
  method: 'GET',
  operation,
  endpoint: null,
  status: 401,
  kind: 'unauthenticated',
  reason: 'there is no credential',
  traceId: null,
})

/** Lists so many as a gateway does: the newest first. */
const from = (first: number, last: number, operation?: string | null): readonly RefusalStatus[] =>
  Array.from({ length: last - first + 1 }, (_, i) => refusal(last - i, operation))

const ids = (list: readonly RefusalStatus[]): readonly string[] => list.map(({ requestId }) => requestId)

test('only what was not told before is new, the oldest first', () => {
  const follow = new Follow()

  const first = follow.next(from(1, 3))
  const second = follow.next(from(2, 5))
  const third = follow.next(from(2, 5))

  expect([first, second, third].map(({ fresh }) => ids(fresh))).toEqual([['r1', 'r2', 'r3'], ['r4', 'r5'], []])
  expect([first, second, third].map(({ missed }) => missed)).toEqual([false, false, false])
})

test('when nothing of the list before is left, some may be missing', () => {
  const follow = new Follow()
  follow.next(from(1, 100))

  expect(follow.next(from(100, 199)).missed).toBe(false)
  expect(follow.next(from(200, 299)).missed).toBe(true)
  expect(follow.next([]).missed).toBe(true) // another process answers
  expect(follow.next([]).missed).toBe(false)
})

test('a list that is full at once may be missing some, one that is not is whole', () => {
  const follow = new Follow()
  follow.next([])

  expect(follow.next(from(1, 99)).missed).toBe(false)

  const other = new Follow()
  other.next([])
  expect(other.next(from(1, 100)).missed).toBe(true)
})

test('what is none of the nine pushes nothing out, and is told apart', () => {
  const follow = new Follow()
  follow.next([...from(500, 501), ...from(1, 100, null)])

  expect(follow.next([...from(500, 501), ...from(101, 200, null)]).missed).toBe(true)
  expect(follow.next([...from(500, 502), ...from(102, 201, null)])).toMatchObject({ missed: false })
})

test('what a worker tells again when it answers again is not new', () => {
  const follow = new Follow()
  const [one, other] = [from(1, 50), from(51, 60)]
  follow.next([...other, ...one])
  follow.next(other)

  expect(follow.next([...other, ...one])).toEqual({ fresh: [], missed: false })
})

test('what is remembered has an end', () => {
  const follow = new Follow()
  for (let n = 0; n < 50; n++) follow.next(from(n * 100, n * 100 + 99))

  expect(ids(follow.next(from(0, 0)).fresh)).toEqual(['r0'])
})
