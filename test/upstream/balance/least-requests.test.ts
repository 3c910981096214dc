import { expect, test } from 'vitest'
import { leastRequests } from '../../../src/upstream/balance/least-requests.ts'
import { type FakeMember, fakes, tally } from './fakes.ts'

test.each([0, 1, 4])('those with %i times their weight on their way share by weight exactly', (times) => {
  const weights = [3, 7, 11]
  const members = fakes(weights)
  for (const [i, member] of members.entries()) member.inFlight = times * (weights[i] ?? 0)

  const counts = tally(leastRequests<FakeMember>(), members, 210)

  expect(counts).toEqual([30, 70, 110])
})

test('one more on its way costs the square of what there is', () => {
  const members = fakes([100, 100])
  for (const [i, member] of members.entries()) member.inFlight = i

  const counts = tally(leastRequests<FakeMember>(), members, 100)

  expect(counts).toEqual([80, 20])
})

test('how long answers take changes nothing', () => {
  const members = fakes([100, 100])
  for (const [i, member] of members.entries()) member.latencyMs = 1 + i * 1_000

  const counts = tally(leastRequests<FakeMember>(), members, 100)

  expect(counts).toEqual([50, 50])
})
