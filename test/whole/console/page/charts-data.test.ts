import { expect, test } from 'vitest'
import { chartsData } from '../../../../src/features/console/page/sse-hub.ts'
import { fixture } from './fixture.ts'

test('charts end with the last whole step, and have the times of reloads that took effect', () => {
  const at = '2026-11-23T10:00:07.400Z'
  const [reload] = fixture.reloads
  if (reload === undefined) throw new Error('the fixture has reloads')
  const results = ['applied', 'rejected', 'unchanged'] as const
  const reloads = results.map((result, i) => ({ ...reload, result, at: `2026-11-23T09:5${i}:00.700Z` }))

  const data = chartsData({ ...fixture, at, reloads })

  expect(data.until).toBe(Date.parse('2026-11-23T10:00:05Z') / 1000)
  expect(data.reloads).toEqual([Date.parse('2026-11-23T09:50:00Z') / 1000])
  expect(chartsData({ ...fixture, at: '2026-11-23T10:00:09.900Z', reloads })).toEqual(data)
})

test('digits that no eye can see are left out, and an operation of which nothing is known', () => {
  const [first, second] = fixture.operations
  if (first === undefined || second === undefined) throw new Error('the fixture has operations')
  const history = { stepSeconds: 5, perSecond: [12.3456], errorsPerSecond: [0.000_123_4], p99Ms: [null, 1234.5] }

  const counted = [
    { ...first, history },
    { ...second, history: null },
  ]
  const { operations } = chartsData({ ...fixture, operations: counted })

  expect(operations).toEqual({
    [first.id]: { stepSeconds: 5, perSecond: [12.3], errorsPerSecond: [0.000_123], p99Ms: [null, 1230] },
  })
})
