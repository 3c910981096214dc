import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { loadSheddingLayer, measureLoopLag } from '../../../src/features/limits/load-shedding.ts'
import { fakeExchange, fakeNext } from '../../helpers/exchange.ts'

describe('the lag of the event loop', () => {
  /** How far the clock is ahead of the timers: the time that the loop stood still. */
  let stoodStillMs = 0
  let loop: ReturnType<typeof measureLoopLag>
  const logged: string[] = []

  beforeEach(() => {
    vi.useFakeTimers()
    const read = performance.now.bind(performance)
    stoodStillMs = 0
    vi.spyOn(performance, 'now').mockImplementation(() => read() + stoodStillMs)
    logged.length = 0
    loop = measureLoopLag((level, event) => void logged.push(`${level} ${event}`))
  })

  afterEach(() => {
    loop.setLimit(null)
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  /** Lets the loop turn for so long, each turn late by so much. */
  const turn = (forMs: number, lateMs = 0): void => {
    for (let left = forMs; left > 0; left -= 20 + lateMs) {
      stoodStillMs += lateMs
      vi.advanceTimersByTime(20)
    }
  }

  test('without a limit there is no timer', () => {
    loop.setLimit(null)

    expect(vi.getTimerCount()).toBe(0)
  })

  test.each<[string, (readonly [forMs: number, lateMs?: number])[], boolean[], number]>([
    ['that is in time sheds nothing', [[10_000]], [false], 0],
    [
      'that is later than the limit sheds, until it is well below',
      [
        [3000, 80],
        [3000, 40],
        [3000, 10],
      ],
      [true, true, false],
      10,
    ],
    ['that is late but below the limit does not begin to shed', [[3000, 40]], [false], 40],
    [
      'that paused for the garbage collector does not, one that stood still for half a second does',
      [[20, 100], [5000], [20, 500]],
      [false, false, true],
      129,
    ],
  ])('a loop %s', (_, turns, expected, delayMs) => {
    loop.setLimit(50)

    const shed = turns.map(([forMs, lateMs]) => {
      turn(forMs, lateMs)
      return loop.sheds
    })

    expect(shed).toEqual(expected)
    expect(Math.round(loop.delayMs)).toBe(delayMs)
  })

  test('however long the process was stopped, that is forgotten a second and a half later', () => {
    loop.setLimit(50)
    turn(20, 3_600_000)
    const stopped = loop.sheds

    turn(1500)

    expect([stopped, loop.sheds]).toEqual([true, false])
  })

  test('a new limit goes on with what was measured', () => {
    loop.setLimit(200)
    turn(3000, 80)
    const before = loop.sheds

    loop.setLimit(50)
    turn(20, 80)

    expect([before, loop.sheds]).toEqual([false, true])
  })

  test('turned off, it sheds nothing and leaves no timer behind', () => {
    loop.setLimit(50)
    turn(3000, 80)

    loop.setLimit(null)

    expect([loop.sheds, vi.getTimerCount()]).toEqual([false, 0])
  })

  test('the log has a line at most every ten seconds, and in the end the present state', () => {
    loop.setLimit(50)

    for (let i = 0; i < 10; i++) {
      turn(2000, 200)
      turn(2000)
    }
    const flapping = logged.length
    turn(20_000)

    expect(flapping).toBeGreaterThan(1)
    expect(flapping).toBeLessThanOrEqual(5)
    expect(logged.at(-1)).toBe('info load is no longer shed')
  })
})

test('exchanges are rejected while load is shed, and no longer', async () => {
  const loop = { sheds: true }
  const next = fakeNext()
  const handle = loadSheddingLayer(loop)(next)

  await expect(handle(fakeExchange())).rejects.toMatchObject({ kind: 'overloaded', fields: ['Retry-After', '1'] })
  const calls = next.calls
  loop.sheds = false
  await handle(fakeExchange())

  expect([calls, next.calls]).toEqual([0, 1])
})
