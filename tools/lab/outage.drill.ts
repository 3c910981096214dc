import { expect, test } from 'vitest'
import { deadEndpoint, oneOfTwoDead, runOutage } from './outage.ts'

// Long enough for a breaker to have tried again several times.
const short = { seconds: 3, breaker: { openFor: '500ms', minRequests: 6 } }

test('two dead groups, one with retries and one without, are named with the cause wherever an operator looks', async () => {
  const { looks, status, page, metric, lines, tail, severities, findings, offMs, states } = await runOutage(
    deadEndpoint,
    short,
  )

  expect({ status, page, metric }).toEqual({ status: looks, page: looks, metric: looks })
  expect(looks).toBeGreaterThan(1)
  expect(lines[0]).toBe(lines[1])
  expect(tail[0]).toBe(tail[1])
  expect(Math.min(lines[1], tail[1])).toBeGreaterThan(10)
  expect({ severities, findings, states }).toEqual({ severities: ['critical'], findings: 1, states: 'failing' })
  expect(offMs).toBeLessThan(200) // two clocks, on a busy machine
}, 180_000)

test('one dead endpoint of two is named, with two workers as well, and its group is served', async () => {
  const { looks, status, page, lines, tail, severities } = await runOutage(oneOfTwoDead, { ...short, workers: 2 })

  expect({ status, page }).toEqual({ status: looks, page: looks })
  expect(lines[0]).toBe(lines[1])
  expect({ tail: tail[1], severities }).toEqual({ tail: 0, severities: ['warning'] })
}, 180_000)
