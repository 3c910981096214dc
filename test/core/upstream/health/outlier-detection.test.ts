import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { OutlierConfig } from '../../../../src/core/config/config.ts'
import { now } from '../../../../src/core/lib/clock.ts'
import type { AttemptOutcome } from '../../../../src/core/upstream/attempt/attempt-outcome.ts'
import { EndpointHealth } from '../../../../src/core/upstream/health/endpoint-health.ts'
import { createOutlierDetector } from '../../../../src/core/upstream/health/outlier-detection.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const config: OutlierConfig = { consecutiveFailures: 5, failureRate: 0.5, ejectionTime: 10_000, maxEjected: 0.5 }

/** An upstream whose requests end as the test says. */
class Rig {
  readonly members: readonly { readonly name: string; readonly health: EndpointHealth; receivesTraffic: boolean }[]
  readonly events: { readonly endpoint: string; readonly reason: string; readonly forMs: number }[] = []

  constructor(count: number, more: Partial<OutlierConfig> = {}, random: () => number = () => 0) {
    const names = Array.from({ length: count }, (_, i) => `${i}`)
    this.members = names.map((name) => ({ name, health: new EndpointHealth(), receivesTraffic: true }))
    const onEjected = (_: string, __: string, ejected: object) => this.events.push(ejected as Rig['events'][number])
    const detectOutlier = createOutlierDetector({ ...config, ...more }, this.members, onEjected, random)
    for (const member of this.members) member.health.judge = (outcome) => detectOutlier(member, outcome)
  }

  health(i: number): EndpointHealth {
    return this.member(i).health
  }

  member(i: number) {
    return this.members[i] as (typeof this.members)[number]
  }

  /** Ends `times` requests of one member. */
  end(i: number, outcome: AttemptOutcome, times = 1, startedAt = now()): void {
    for (let n = 0; n < times; n++) {
      this.health(i).recordOutcome(outcome, 503)
      this.health(i).recordForComparison(outcome, 503, startedAt)
    }
  }

  get out(): number[] {
    return this.members.flatMap(({ health }, i) => (health.isEjected() ? [i] : []))
  }
}

/** Ejects a member, lets it return and fail at once, so many times in all. Returns how long each ejection took. */
const ejections = (rig: Rig, times: number): number[] => {
  rig.end(0, 'failure', 5)
  for (let n = 1; n < times; n++) {
    vi.advanceTimersByTime(rig.events.at(-1)?.forMs ?? 0)
    rig.end(0, 'failure')
  }
  return rig.events.map(({ forMs }) => forMs)
}

/** Ends requests: `0 fails 3` are three of the first member; `wait 1000` are ms that pass. */
const play = (rig: Rig, steps: string): void => {
  for (const [who = '', how = '', times = '1'] of steps.split(', ').map((step) => step.split(' ')))
    if (who === 'wait') vi.advanceTimersByTime(Number(how))
    else rig.end(Number(who), outcomes[how as keyof typeof outcomes], Number(times))
}

const outcomes = { fails: 'failure', succeeds: 'success', ends: 'nothing' } as const

test('failures in a row eject an endpoint at the configured number, and the event is emitted', () => {
  const rig = new Rig(3)
  rig.end(1, 'failure', 4)
  const before = rig.out

  rig.end(1, 'failure')

  expect([before, rig.out]).toEqual([[], [1]])
  const until = Date.now() + 10_000
  expect(rig.events).toEqual([{ endpoint: '1', reason: '5 failures in a row', forMs: 10_000, until }])
  const ejection = { since: Date.now() }
  expect(rig.health(1)).toMatchObject({ counts: { ejections: 1 }, consecutiveFailures: 0, ejection })
})

const byShare = { consecutiveFailures: null }
const brief = { ...byShare, ejectionTime: 1000 }
const half = '0 succeeds 10, 0 fails 10'
const nearly = '0 succeeds 9, 0 fails 9'

test.each<[string, number, Partial<OutlierConfig>, string, readonly number[]]>([
  ['a success begins the row of failures anew', 3, {}, '1 fails 4, 1 succeeds, 1 fails 4', []],
  ['what says nothing does not', 3, {}, '1 fails 4, 1 ends 10, 1 fails', [1]],
  ['without limits none is out', 3, { ...byShare, failureRate: null }, '1 succeeds 20, 0 fails 1000', []],
  ['one that fails more than its siblings is out', 3, byShare, `1 succeeds 20, 2 succeeds 20, ${half}`, [0]],
  ['not of 19 requests', 3, byShare, '1 succeeds 40, 0 succeeds 10, 0 fails 9', []],
  ['not with less of an excess', 3, byShare, '1 succeeds 40, 0 succeeds 13, 0 fails 12', []],
  ['not where its siblings fail as much', 3, byShare, `1 fails 10, 1 succeeds 10, ${half}`, []],
  ['not where its siblings have no traffic', 3, byShare, half, []],
  ['not for what was 10 s ago', 3, byShare, `${nearly}, wait 10000, 1 succeeds 20, ${nearly}`, []],
  ['the first failure after it ejects it again', 2, {}, '0 fails 5, wait 10000, 0 fails', [0]],
  ['not behind a success', 2, {}, '0 fails 5, wait 10000, 0 succeeds, 0 fails 4', []],
  ['the share behind an ejection is gone', 2, brief, '1 succeeds 40, 0 fails 20, wait 1000, 0 succeeds, 0 fails', []],
  ['one that had to stay goes once there is room', 2, {}, '0 fails 5, 1 fails 7, wait 10000, 1 fails', [1]],
])('%s', (_, count, more, steps, expected) => {
  const rig = new Rig(count, more)

  play(rig, steps)

  expect(rig.out).toEqual(expected)
})

test('a share of failures is given as the reason, and so is a failure after the return', () => {
  const [byRate, again] = [new Rig(3, byShare), new Rig(2)]

  play(byRate, `1 succeeds 20, 2 succeeds 20, ${half}`)
  ejections(again, 2)

  expect(byRate.events[0]?.reason).toBe('50 % of 20 requests failed in 10s, 0 % at its siblings')
  expect(again.events[1]?.reason).toBe('failed again after an ejection')
})

describe('an ejection', () => {
  test('ends when its time is over, and the slow start begins there', () => {
    const rig = new Rig(2)
    rig.end(0, 'failure', 5)
    const until = now() + 10_000

    vi.advanceTimersByTime(9_999)
    const [early, earlySince] = [rig.out, rig.health(0).recoveredAt()]
    vi.advanceTimersByTime(5_001)

    expect([early, earlySince]).toEqual([[0], null])
    expect([rig.out, rig.health(0).recoveredAt()]).toEqual([[], until])
  })

  test('is not changed by what ends meanwhile', () => {
    const rig = new Rig(2)
    rig.end(0, 'failure', 5)
    const { ejection } = rig.health(0)

    play(rig, '0 fails 50, 0 succeeds')

    expect(rig.health(0)).toMatchObject({ ejection, onProbation: true })
  })

  test.each<[string, Partial<OutlierConfig>, readonly number[]]>([
    ['doubles with each one in a row, up to 32 times the first', {}, [10, 20, 40, 80, 160, 320, 320, 320]],
    ['is at most an hour', { ejectionTime: 2_400_000 }, [2400, 3600, 3600]],
    ['is as long as configured, though that be more than an hour', { ejectionTime: 7_200_000 }, [7200, 7200]],
  ])('%s', (_, more, seconds) => {
    expect(ejections(new Rig(2, more), seconds.length)).toEqual(seconds.map((each) => each * 1000))
  })

  test('is up to 10 % longer, so that not all come back at once', () => {
    expect(ejections(new Rig(2, {}, () => 0.5), 1)).toEqual([10_500])
  })

  test.each([
    [10_000, 20_000],
    [10_001, 10_000],
  ])('after %i ms in, following one of 10000 ms, takes %i ms', (inForMs, expected) => {
    const rig = new Rig(2)

    play(rig, `0 fails 5, wait 10000, 0 succeeds, wait ${inForMs}, 0 fails 5`)

    expect(rig.events[1]?.forMs).toBe(expected)
  })

  test('outlives the detector that caused it', () => {
    const rig = new Rig(2)
    rig.end(0, 'failure', 5)
    const next = createOutlierDetector(config, rig.members, vi.fn(), () => 0)
    vi.advanceTimersByTime(10_000)

    rig.health(0).recordOutcome('failure', 503)
    next(rig.member(0), 'failure')

    expect(rig.health(0).ejection).toMatchObject({ startedAt: now(), until: now() + 20_000 })
  })
})

describe('how many are out', () => {
  test.each([
    [1, 0.5, 0],
    [2, 0, 1],
    [2, 0.5, 1],
    [3, 0.5, 1],
    [4, 0.5, 2],
    [3, 1, 3],
  ])('of %i at most %f: %i', (count, maxEjected, expected) => {
    const rig = new Rig(count, { maxEjected })

    for (let i = 0; i < count; i++) rig.end(i, 'failure', 10)

    expect(rig.out.length).toBe(expected)
  })

  test.each<[string, readonly number[], Partial<OutlierConfig>, string, readonly number[]]>([
    ['one that drains is not ejected', [0], {}, '0 fails 10', []],
    ['those that drain make no room for another', [0, 1], {}, '2 fails 10', []],
    ['one that drains is not compared with', [1], byShare, `1 succeeds 20, 1 fails 20, 2 succeeds 20, ${half}`, [0]],
  ])('%s', (_, draining, more, steps, expected) => {
    const rig = new Rig(3, more)
    for (const i of draining) rig.member(i).receivesTraffic = false

    play(rig, steps)

    expect(rig.out).toEqual(expected)
  })

  test('one that was ejected, and then drained, does not keep a failing sibling in', () => {
    const rig = new Rig(3)
    rig.end(0, 'failure', 5)
    rig.member(0).receivesTraffic = false

    rig.end(1, 'failure', 5)

    expect(rig.out).toEqual([0, 1])
  })
})

test('a request that began before an ejection and fails after it does not count against the return', () => {
  const rig = new Rig(2)
  const before = now()
  rig.end(0, 'failure', 5)
  vi.advanceTimersByTime(rig.events[0]?.forMs ?? 0)

  rig.end(0, 'failure', 5, before)

  expect(rig.events.length).toBe(1)
})

test('requests that began before an operator let the endpoint in, and fail after it, do not count as failures', () => {
  const rig = new Rig(2)
  const before = now()
  rig.end(0, 'failure', 5)
  vi.advanceTimersByTime(1000)
  rig.health(0).uneject()

  rig.end(0, 'failure', 5, before)
  rig.end(0, 'failure', 4)
  const out = rig.out
  rig.end(0, 'failure')

  expect(out).toEqual([])
  expect(rig.events.map(({ forMs }) => forMs)).toEqual([10_000, 10_000])
})
