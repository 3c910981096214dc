import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { calmChanges } from '../../../src/features/redis/redis-registry.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** Collects what is logged of a Redis; `flap` has it go and come again, so often, within so long. */
const open = () => {
  const lines: string[] = []
  const onChange = calmChanges(
    (level, event, fields) => void lines.push(`${level} ${event} ${JSON.stringify(fields)}`),
    'here',
    'gone',
  )
  const flap = (times: number, ms: number): void => {
    for (let n = 0; n < times; n++) {
      onChange(false, 'lost')
      onChange(true, null)
      vi.advanceTimersByTime(ms / times)
    }
  }
  return { lines, onChange, flap }
}

const gone = 'warn gone {"reason":"lost"}'
const back = 'info here {}'

test('two outages in a minute are logged as they come, and so are those of the minutes after', () => {
  const { lines, flap } = open()

  flap(2, 60_000)
  flap(2, 60_000)

  expect(lines).toEqual(new Array(4).fill([gone, back]).flat())
})

test('a Redis that comes and goes is logged once a minute', () => {
  const { lines, flap } = open()
  flap(300, 60_000)
  lines.length = 0

  flap(600, 120_000)

  expect(lines).toEqual(new Array(2).fill('info here {"changes":600}'))
})

test('one that stays away in the end is logged as that, and its return at once when a minute was quiet', () => {
  const { lines, onChange, flap } = open()
  flap(150, 30_000)
  onChange(false, 'refused')
  lines.length = 0

  vi.advanceTimersByTime(120_000)
  onChange(true, null)

  expect(lines).toEqual(['warn gone {"reason":"refused","changes":297}', back])
})
