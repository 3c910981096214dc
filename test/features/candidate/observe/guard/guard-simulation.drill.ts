/** How often the guard takes a candidate back that is as good as its primary. */
import { expect, test } from 'vitest'
import { type Scene, simulate } from './simulation.ts'

const pick = <T>(values: readonly T[], at: number): T => values[at % values.length] as T

/**
 * The scene of an hour. Shares, rates, clients and what fails go through all their combinations. What is behind both
 * sides fails or is slow six times in an hour, where the primary is asked often enough to tell.
 */
const sceneOf = (hour: number): Scene => {
  const share = pick([0.01, 0.05, 0.1, 0.25, 0.5, 0.9, 1], hour)
  return {
    share,
    perSecond: pick([1, 3, 8], Math.trunc(hour / 7)),
    clients: Math.max(pick([10, 40, 300], Math.trunc(hour / 21)), 1 / share),
    failing: pick([0, 0.001, 0.01, 0.05], Math.trunc(hour / 63)),
    refusing: pick([0, 0.01, 0.05], Math.trunc(hour / 252)),
    areOdd: share < 1 && hour % 2 === 1,
    hasBursts: share <= 0.5 && hour % 3 > 0,
    seconds: 3600,
  }
}

/** How many of the 1,000 hours are simulated, evenly chosen. */
const hours = Number(process.env.HOURS ?? 250)

test('in 1,000 hours of sides that are alike it does so once at most', () => {
  const chosen = Array.from({ length: hours }, (_, nth) => Math.floor((nth * 1000) / hours))
  const alarms = chosen
    .map((hour) => ({ hour, alarm: simulate(sceneOf(hour), hour) }))
    .filter(({ alarm }) => alarm !== null)

  console.log(`${hours} hours: ${alarms.length} taken back`)
  expect(alarms.length, JSON.stringify(alarms)).toBeLessThanOrEqual(1)
}, 600_000)

const bad: readonly (readonly [string, Scene['fault'] & object, number])[] = [
  ['fails all', { failed: 1 }, 60],
  ['fails half', { failed: 0.5 }, 60],
  ['fails a tenth', { failed: 0.1 }, 120],
  ['refuses all', { refused: 1 }, 60],
  ['takes five times as long', { slower: 5 }, 60],
]

test.each(bad)(
  'one that %s is taken back in each of ten hours',
  (_, fault, within) => {
    const scene: Scene = {
      share: 0.25,
      perSecond: 20,
      clients: 60,
      failing: 0.001,
      refusing: 0.01,
      areOdd: false,
      hasBursts: false,
      seconds: 3600,
      fault,
    }
    const seconds = Array.from({ length: 10 }, (_, seed) => simulate(scene, seed)?.second ?? Number.POSITIVE_INFINITY)

    console.log(`${JSON.stringify(fault)}: after ${seconds.join(', ')} s`)
    expect(Math.max(...seconds)).toBeLessThanOrEqual(within)
  },
  60_000,
)
