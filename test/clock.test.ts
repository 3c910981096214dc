import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { CoalescedTimer, epochMs, now, settlesWithin } from '../src/clock.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  vi.restoreAllMocks()
  vi.runAllTimers() // alarms share timers: none may be left to a clock that is gone
  vi.useRealTimers()
})

/** Makes an alarm that records when it went off. */
const alarm = () => {
  const rang: number[] = []
  const start = now()
  return { rang, alarm: new CoalescedTimer(() => rang.push(now() - start)) }
}

test('it goes off once, when its time has come', () => {
  const { alarm: a, rang } = alarm()

  a.set(100)
  vi.advanceTimersByTime(1000)

  expect(rang).toEqual([100])
  expect(vi.getTimerCount()).toBe(0)
})

test('a timer that fires early does not make it go off early', () => {
  const { alarm: a, rang } = alarm()
  a.set(100)

  // Node's timers count from the time of the loop, which may lag behind the clock.
  const lag = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 99.2)
  vi.advanceTimersByTime(100)
  const early = [...rang]
  lag.mockRestore()
  vi.advanceTimersByTime(1)

  expect(early).toEqual([])
  expect(rang.length).toBe(1)
})

test('set again, it waits from then on', () => {
  const { alarm: a, rang } = alarm()

  a.set(100)
  vi.advanceTimersByTime(60)
  a.set(100)
  vi.advanceTimersByTime(1000)

  expect(rang).toEqual([160])
})

test('set again for an earlier time, it goes off then', () => {
  const { alarm: a, rang } = alarm()

  a.set(100)
  a.set(10)
  vi.advanceTimersByTime(1000)

  expect(rang).toEqual([10])
})

test('set a thousand times in a row, it has one timer', () => {
  const { alarm: a } = alarm()
  const timers = vi.spyOn(globalThis, 'setTimeout')

  for (let i = 0; i < 1000; i++) {
    a.set(100)
    vi.advanceTimersByTime(0.01)
  }

  expect(timers.mock.calls.length).toBe(1)
})

test('cleared, it does not go off; set again, it does', () => {
  const { alarm: a, rang } = alarm()

  a.set(100)
  a.clear()
  vi.advanceTimersByTime(1000)
  const cleared = [...rang]
  a.set(50)
  vi.advanceTimersByTime(1000)

  expect(cleared).toEqual([])
  expect(rang).toEqual([1050])
})

test('many of one duration share a timer, and each goes off in its turn', () => {
  const rang: number[] = []
  const alarms = [0, 1, 2, 3, 4].map((each) => new CoalescedTimer(() => rang.push(each)))

  for (const each of alarms) {
    each.set(100)
    vi.advanceTimersByTime(10)
  }
  const timers = vi.getTimerCount()
  alarms[2]?.clear()
  alarms[0]?.set(100)
  vi.advanceTimersByTime(1000)

  expect(timers).toBe(1)
  expect(rang).toEqual([1, 3, 4, 0])
  expect(vi.getTimerCount()).toBe(0)
})

test('one that throws keeps no other from its turn', () => {
  const { alarm: a, rang } = alarm()
  const bad = new CoalescedTimer(() => {
    throw new Error('from the alarm')
  })

  bad.set(100)
  a.set(100)

  expect(() => vi.advanceTimersByTime(100)).toThrow('from the alarm')
  vi.advanceTimersByTime(100)
  expect(rang.length).toBe(1)
  expect(vi.getTimerCount()).toBe(0)
})

test('cleared, it leaves no timer behind', () => {
  const { alarm: a, rang } = alarm()

  a.set(100)
  a.clear()

  expect(vi.getTimerCount()).toBe(0)
  vi.advanceTimersByTime(1000)
  expect(rang).toEqual([])
})

test('set again for another time, it leaves no timer of the first', () => {
  const { alarm: a } = alarm()

  a.set(3_600_000)
  a.set(10)
  const meanwhile = vi.getTimerCount()
  a.clear()

  expect([meanwhile, vi.getTimerCount()]).toEqual([1, 0])
})

test('null waits for ever', () => {
  const { alarm: a, rang } = alarm()

  a.set(100)
  a.set(null)
  vi.advanceTimersByTime(1_000_000)

  expect(rang).toEqual([])
})

test('zero goes off at the next turn', () => {
  const { alarm: a, rang } = alarm()

  a.set(0)
  const atOnce = rang.length
  vi.advanceTimersByTime(1)

  expect([atOnce, rang.length]).toEqual([0, 1])
})

test('it may be set anew when it goes off', () => {
  const start = now()
  const rang: number[] = []
  const again = new CoalescedTimer(() => {
    rang.push(now() - start)
    if (rang.length < 3) again.set(100)
  })

  again.set(100)
  vi.advanceTimersByTime(1000)

  expect(rang).toEqual([100, 200, 300])
})

test('durations come from the monotonic clock, records from the wall clock', () => {
  const [before, wallBefore] = [now(), epochMs()]

  vi.setSystemTime(wallBefore + 3_600_000)

  expect(now()).toBe(before)
  expect(epochMs()).toBe(wallBefore + 3_600_000)
})

test('a wait with a limit resolves to whether the promise was in time, and leaves no timer', async () => {
  const inTime = settlesWithin(100, Promise.resolve())
  const early = await inTime
  const never = settlesWithin(100, new Promise(() => {}))
  await vi.advanceTimersByTimeAsync(100)

  expect([early, await never]).toEqual([true, false])
  await expect(settlesWithin(100, Promise.reject(new Error('of its own')))).rejects.toThrow('of its own')
  expect(vi.getTimerCount()).toBe(0)
})
