/** The law of the shares, kept by real members beside what else changes their weight and their places. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { now } from '../../src/clock.ts'
import { balancers } from '../../src/upstream/balance.ts'
import { chooser } from '../../src/upstream/choose.ts'
import type { Endpoint } from '../../src/upstream/endpoint.ts'
import { Member } from '../../src/upstream/member.ts'
import { outlierDetection } from '../../src/upstream/outlier.ts'
import { Standing } from '../../src/upstream/standing.ts'
import { upstreamConfig } from '../helpers/upstream-config.ts'
import { seeded } from './balance/fakes.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const config = upstreamConfig('http://unused.test', { slowStart: 10_000 })
const ejecting = { consecutiveFailures: 5, failureRate: null, ejectionTime: 10_000, maxEjected: 0.5 }
const picks = 5_000

/** Makes members of these weights, to which nothing is sent. */
const membersOf = (...weights: readonly number[]): readonly Member[] =>
  weights.map((weight, i) => {
    const endpoint = {
      name: `http://e${i}.test`,
      standing: new Standing(),
      inFlight: 0,
      connections: { isFull: false },
    }
    return new Member(endpoint as unknown as Endpoint, config, {
      weight,
      draining: weight === 0,
      watch: null,
      onFailure: () => {},
    })
  })

const end = (member: Member, status: number, times = 1): void => {
  for (let n = 0; n < times; n++) {
    const outcome = status < 500 ? 'success' : 'failure'
    member.standing.count(outcome, status)
    member.standing.compare(outcome, status, now())
  }
}

/** Makes all but one slow and loaded, so that it seems as fast as can be. */
const makeFast = (fast: Member, members: readonly Member[]): void => {
  for (const other of members) {
    if (other === fast) continue
    other.standing.latency.heard(5_000, now())
    ;(other.endpoint as { inFlight: number }).inFlight = 64
  }
}

describe.each(['p2c', 'least-requests'] as const)('%s', (name) => {
  /** Tells which share of so many choices, all of them now, a member gets. */
  const shareOf = (member: Member | undefined, members: readonly Member[]): number => {
    const choose = chooser(members, balancers[name]<Member>(seeded(3)))
    let chosen = 0
    for (let n = 0; n < picks; n++) if (choose(null, false) === member) chosen++
    return chosen / picks
  }

  test.each([
    [0, 0.1],
    [2_500, 0.25],
    [5_000, 0.5],
    [10_000, 1],
  ])(
    'one that came back %i ms ago has at most 2 × the share of %f times its weight, however fast it is',
    (ago, part) => {
      const members = membersOf(100, 100, 100)
      const [back] = members
      back?.standing.cameUp()
      vi.advanceTimersByTime(ago)
      makeFast(back as Member, members)

      const share = shareOf(back, members)

      expect(share).toBeLessThanOrEqual((2 * part) / (2 + part) + 0.03)
      expect(share).toBeGreaterThan(part / (2 + part) - 0.03)
    },
  )

  test('one that comes back from an ejection is not held to its failures, and fails once at most before it is out', () => {
    const members = membersOf(100, 100)
    const [failing] = members as readonly [Member, Member]
    const settled = outlierDetection(
      ejecting,
      members,
      () => {},
      () => 0,
    )
    end(failing, 503, 5)
    settled(failing, 'failure')
    const out = shareOf(failing, members)
    vi.advanceTimersByTime(15_000)
    const back = shareOf(failing, members)

    end(failing, 503)
    settled(failing, 'failure')

    expect(out).toBe(0)
    expect(back).toBeCloseTo(0.5 / 1.5, 1)
    expect(shareOf(failing, members)).toBe(0)
  })

  test('a light one that fails beside a heavy one has at most its share, and so has a heavy one that cannot be left alone', () => {
    const [light, heavy] = [membersOf(10, 100), membersOf(100, 10)]
    for (const members of [light, heavy]) {
      end(members[0] as Member, 503, 3)
      makeFast(members[0] as Member, members)
    }

    expect(shareOf(light[0], light)).toBeLessThan(10 / 110 + 0.01)
    expect(shareOf(heavy[0], heavy)).toBeLessThan(100 / 110 + 0.01)
  })

  test('shares are of those that take work and are up', () => {
    const members = membersOf(10, 100, 0, 100, 100)
    const [fast, , , down, full] = members
    if (down !== undefined) down.standing.down = { since: 0, reason: 'x' }
    if (full !== undefined) (full.endpoint.connections as unknown as { isFull: boolean }).isFull = true
    makeFast(fast as Member, members)

    expect(shareOf(fast, members)).toBeCloseTo(20 / 110, 1)
    expect(members.slice(2).map((member) => shareOf(member, members))).toEqual([0, 0, 0])
  })

  test('when all fail alike, share by weight as when all are well', () => {
    const members = membersOf(10, 30, 60)
    for (const member of members) end(member, 503, 4)

    for (const member of members) expect(shareOf(member, members)).toBeCloseTo(member.weight / 100, 1)
  })
})
