import { expect, test } from 'vitest'
import type { RecentErrorView } from '../../../../../src/core/admin/api/recent-errors.ts'
import { RequestFollower } from '../../../../../src/features/tail/tail.ts'
import type { OperationId } from '../../../../../src/operations.ts'

const rejection = (n: number, operation: OperationId | null = 'market.insights'): RecentErrorView => ({
  ...{ at: new Date(n).toISOString(), requestId: `r${n}`, client: '192.0.2.7', clientId: null, method: 'GET' },
  ...{ operation, endpoint: null, side: null, fellBack: false, status: 401, kind: 'unauthenticated' },
  reason: 'there is no credential',
  traceId: null,
})

/** Lists rejections as a gateway does: the newest first. */
const from = (first: number, last: number, operation?: OperationId | null): readonly RecentErrorView[] =>
  Array.from({ length: last - first + 1 }, (_, i) => rejection(last - i, operation))

const ids = (list: readonly { readonly requestId: string }[]): readonly string[] =>
  list.map(({ requestId }) => requestId)

/** Makes the response of a gateway that has rejected `total` requests since its start. */
const response = (total: number, rejections: readonly RecentErrorView[]) => ({ total, entries: rejections })

test('only entries that were not in an earlier list are new, the oldest first', () => {
  const follow = new RequestFollower()

  const first = follow.next(response(3, from(1, 3)))
  const second = follow.next(response(5, from(2, 5)))
  const third = follow.next(response(5, from(2, 5)))

  expect([first, second, third].map(({ fresh }) => ids(fresh))).toEqual([['r1', 'r2', 'r3'], ['r4', 'r5'], []])
  expect([first, second, third].map(({ missed }) => missed)).toEqual([false, false, false])
})

test('when there were more than the list holds, some are missing', () => {
  const follow = new RequestFollower()
  follow.next(response(100, from(1, 100)))

  expect(follow.next(response(199, from(100, 199))).missed).toBe(false)
  expect(follow.next(response(300, from(201, 300))).missed).toBe(true)
})

test('after a flood that has replaced older ones, some are missing', () => {
  const follow = new RequestFollower()
  const others = from(1, 50, null)
  follow.next(response(50, others))

  expect(follow.next(response(150, [...from(51, 150), ...others])).missed).toBe(false)
  expect(follow.next(response(251, [...from(152, 251), ...others])).missed).toBe(true)
})

test('when another process responds, some may be missing', () => {
  const follow = new RequestFollower()
  follow.next(response(3, from(1, 3)))

  expect(follow.next(response(1, from(4, 4)))).toMatchObject({ missed: true, fresh: [{ requestId: 'r4' }] })
  expect(follow.next(response(1, from(4, 4))).missed).toBe(false)
})

test('entries that come again after a worker was silent are not new', () => {
  const follow = new RequestFollower()
  const [one, other] = [from(1, 50), from(51, 60)]
  follow.next(response(60, [...other, ...one]))
  follow.next(response(60, other))

  expect(follow.next(response(60, [...other, ...one]))).toEqual({ fresh: [], missed: false })
})

test('an old entry that is listed all the time is new once, however many others come', () => {
  const follow = new RequestFollower()
  const rare = from(1, 1, null)
  follow.next(response(1, rare))

  const repeated: string[] = []
  for (let n = 1; n <= 30; n++) {
    const { fresh, missed } = follow.next(response(1 + 100 * n, [...from(n * 100, n * 100 + 99), ...rare]))
    if (missed || ids(fresh).includes('r1')) repeated.push(`list ${n}`)
  }

  expect(repeated).toEqual([])
})

test('the follower remembers a limited number', () => {
  const follow = new RequestFollower()
  for (let n = 0; n < 50; n++) follow.next(response(100 * n, from(n * 100, n * 100 + 99)))

  expect(ids(follow.next(response(5000, from(0, 0))).fresh)).toEqual(['r0'])
})
