import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { CoalescedTimer, epochMs, forgetTimers, now, settlesWithin, unrefTimeout } from '../../../src/core/lib/clock.ts'

describe('a clock that the test moves', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => {
    vi.restoreAllMocks()
    if (vi.isFakeTimers()) vi.runAllTimers() // the tests share Node's timers: none may be left to a restored clock
    vi.useRealTimers()
  })

  /** Creates a timer that records when it fires. */
  const createTimer = () => {
    const firedAt: number[] = []
    const start = now()
    return { firedAt, timer: new CoalescedTimer(() => firedAt.push(now() - start)) }
  }

  // `100`: set for 100 ms; `for ever`: without an end; `wait 60`: 60 ms pass.
  test.each([
    ['it fires once, when its time has come', '100, wait 1000', [100]],
    ['set again, it waits from then on', '100, wait 60, 100, wait 1000', [160]],
    ['set again for an earlier time, it fires then, and the first leaves no timer', '3600000, 10, wait 1000', [10]],
    ['cleared, it does not fire; set again, it does', '100, clear, wait 1000, 50, wait 1000', [1050]],
    ['set for ever, it does not fire', '100, for ever, wait 1000000', []],
  ])('%s', (_, steps, expected) => {
    const { timer, firedAt } = createTimer()

    for (const step of steps.split(', ')) {
      if (step.startsWith('wait')) vi.advanceTimersByTime(Number(step.slice(4)))
      else if (step === 'clear') timer.clear()
      else timer.set(step === 'for ever' ? null : Number(step))
    }

    expect([firedAt, vi.getTimerCount()]).toEqual([expected, 0])
  })

  test('a timer of Node that fires early does not make a CoalescedTimer fire early', () => {
    const { timer: a, firedAt } = createTimer()
    a.set(100)

    // Node's timers count from the time of the loop, which may lag behind the clock.
    const lag = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 99.2)
    vi.advanceTimersByTime(100)
    const early = [...firedAt]
    lag.mockRestore()
    vi.advanceTimersByTime(1)

    expect(early).toEqual([])
    expect(firedAt.length).toBe(1)
  })

  test('a timer that is set a thousand times in a row has one timer of Node', () => {
    const { timer } = createTimer()
    const timers = vi.spyOn(globalThis, 'setTimeout')

    for (let i = 0; i < 1000; i++) {
      timer.set(100)
      vi.advanceTimersByTime(0.01)
    }

    expect(timers.mock.calls.length).toBe(1)
  })

  test('timers of one duration share one of Node, and each fires in its turn', () => {
    const firedAt: number[] = []
    const timers = [0, 1, 2, 3, 4].map((each) => new CoalescedTimer(() => firedAt.push(each)))

    for (const each of timers) {
      each.set(100)
      vi.advanceTimersByTime(10)
    }
    const nodeTimers = vi.getTimerCount()
    timers[2]?.clear()
    timers[0]?.set(100)
    vi.advanceTimersByTime(1000)

    expect(nodeTimers).toBe(1)
    expect(firedAt).toEqual([1, 3, 4, 0])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a timer that is set again after forgetTimers leaves no earlier one', () => {
    const { timer, firedAt } = createTimer()

    timer.set(100)
    forgetTimers()
    timer.set(100)
    const nodeTimers = vi.getTimerCount()
    vi.advanceTimersByTime(1000)

    expect([nodeTimers, firedAt.length]).toEqual([1, 1])
  })

  test('a timer whose callback throws does not delay the others', () => {
    const { timer: a, firedAt } = createTimer()
    const bad = new CoalescedTimer(() => {
      throw new Error('from the timer')
    })

    bad.set(100)
    a.set(100)

    expect(() => vi.advanceTimersByTime(100)).toThrow('from the timer')
    vi.advanceTimersByTime(100)
    expect(firedAt.length).toBe(1)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a timer that is set again when it fires does not delay the others', () => {
    const { timer: other, firedAt } = createTimer()
    const again = new CoalescedTimer(() => again.set(100))

    again.set(100)
    vi.advanceTimersByTime(10)
    other.set(100)
    vi.advanceTimersByTime(1000)
    again.clear()

    expect(firedAt).toEqual([110])
  })

  test('input that arrived during a standstill is read before a due timer fires', async () => {
    vi.useRealTimers()
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const sender = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const [receiver]: Socket[] = await once(server, 'connection')
    onTestFinished(() => {
      sender.destroy()
      server.close()
    })
    const seen: string[] = []
    const timer = new CoalescedTimer(() => void seen.push('late'))
    receiver?.once('data', () => void seen.push('read'))

    timer.set(50)
    sender.write('a')
    const from = now()
    while (now() < from + 100);
    await expect.poll(() => seen.length).toBe(2)

    expect(seen).toEqual(['read', 'late'])
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

  test('unrefTimeout with a past time calls at once, and Node does not warn', () => {
    const set = vi.spyOn(globalThis, 'setTimeout')
    const call = vi.fn()

    unrefTimeout(-0.5, call)
    vi.advanceTimersByTime(1)

    expect(set.mock.calls.map(([, ms]) => ms)).toEqual([0])
    expect(call).toHaveBeenCalledTimes(1)
  })
})
