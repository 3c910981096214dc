import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { KeptShift, ShiftOrder, ShiftPlan } from '../../../../src/features/candidate/shift/shift-record.ts'
import type { ShiftState } from '../../../../src/features/candidate/shift/shift-state.ts'
import { Shifts } from '../../../../src/features/candidate/shift/shifts.ts'

const start = 1_700_000_000_000
const minute = 60_000
const words = { by: '10.0.0.9', reason: 'rehearsal' }

beforeEach(() => void vi.useFakeTimers({ now: start }))
afterEach(() => {
  for (const each of opened.splice(0)) each.clear() // timers of one duration share one, also with the next test
  vi.useRealTimers()
})

const opened: Shifts[] = []

const plan = (changes: Partial<ShiftPlan> = {}): ShiftPlan => ({ digest: 'a', share: 0.05, steps: null, ...changes })
const steps = (startedAt: number | null = null) => ({
  shares: [0.01, 0.05, 0.25, 1],
  every: 15 * minute,
  startedAt,
})
const stepped = (changes: Partial<ShiftPlan> = {}) => plan({ share: 0, steps: steps(), ...changes })

/** Opens shifts whose risk has a candidate with this plan, and records the news. */
const open = (risk: ShiftPlan) => {
  const news: string[] = []
  const shifts = new Shifts((group, what, { share }) => news.push(`${group} ${what} ${share}`))
  opened.push(shifts)
  shifts.prepare({ risk }).commit()
  const share = () => shifts.get('risk')?.share
  return { shifts, news, share }
}

describe('the file', () => {
  test('says the share of a candidate, and a group without one has none', () => {
    const { shifts } = open(plan())

    expect(shifts.get('market')).toBeNull()
    expect(shifts.get('risk')).toEqual({
      digest: 'a',
      share: 0.05,
      cause: 'file',
      isStopped: false,
      ...{ by: null, reason: null, since: start },
      ...{ until: null, afterwards: null, paused: null, step: null },
    })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('with another candidate forgets what was said of the one before, and leaves no timer', () => {
    const { shifts, share } = open(stepped())
    shifts.order('risk', { kind: 'to', share: 0.5, ttlMs: 60 * minute }, words).confirm()

    shifts.prepare({ risk: plan({ digest: 'b' }) }).commit()
    const other = share()
    shifts.prepare({}).commit()

    expect(other).toBe(0.05)
    expect(shifts.all).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that is read again with the same candidate changes nothing', () => {
    const { shifts } = open(stepped())
    vi.advanceTimersByTime(16 * minute)
    shifts.order('risk', { kind: 'to', share: 0.5, ttlMs: 60 * minute }, words).confirm()
    const before = shifts.get('risk')
    vi.advanceTimersByTime(minute)

    shifts.prepare({ risk: stepped(), market: plan() }).commit()

    expect(shifts.get('risk')).toEqual(before)
  })

  test('says how it will stand with the plans of the next file, and changes nothing yet', () => {
    const { shifts, share } = open(plan())
    shifts.order('risk', { kind: 'to', share: 0.5, ttlMs: 60 * minute }, words).confirm()

    const same = shifts.prepare({ risk: plan() }).view
    const other = shifts.prepare({ risk: plan({ digest: 'b', share: 0.2 }), market: stepped() }).view

    expect(same.get('risk')?.share).toBe(0.5)
    expect(other.all.map(([group, state]) => [group, state.share])).toEqual([
      ['risk', 0.2],
      ['market', 0.01],
    ])
    expect(share()).toBe(0.5)
    expect(shifts.get('market')).toBeNull()
  })
})

describe('steps', () => {
  test('go on by themselves to the last, and rest there without a timer', () => {
    const { shifts, news, share } = open(stepped())
    const first = share()

    vi.advanceTimersByTime(46 * minute)

    expect(first).toBe(0.01)
    expect(news).toEqual(['risk step 0.05', 'risk step 0.25', 'risk step 1'])
    expect(shifts.get('risk')).toMatchObject({ cause: 'steps', step: { reached: 4, of: 4, nextAt: null } })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('do not begin before a time of the file, and are where that time says after a restart', () => {
    const ahead = open(stepped({ steps: steps(start + minute) }))
    const early = ahead.shifts.get('risk')
    vi.advanceTimersByTime(minute)
    const begun = ahead.share()
    const later = open(stepped({ steps: steps(start - 20 * minute) })).shifts.get('risk')

    expect(early).toMatchObject({ share: 0, step: { reached: 0, nextShare: 0.01, nextAt: start + minute } })
    expect(begun).toBe(0.01)
    // A minute has gone by since.
    expect(later).toMatchObject({ share: 0.05, step: { reached: 2, nextAt: start - 20 * minute + 30 * minute } })
  })

  test('wait for a time that lies years ahead, which is more than a timer holds', () => {
    const { share } = open(stepped({ steps: steps(start + 40 * 24 * 60 * minute) }))

    vi.advanceTimersByTime(39 * 24 * 60 * minute)
    const before = share()
    vi.advanceTimersByTime(24 * 60 * minute)

    expect([before, share()]).toEqual([0, 0.01])
  })

  test('never go below the share of the file', () => {
    const { share } = open(stepped({ share: 0.1 }))

    const first = share()
    vi.advanceTimersByTime(31 * minute)

    expect([first, share()]).toEqual([0.1, 0.25])
  })

  test('are no shorter or longer when the wall clock jumps', () => {
    const { share } = open(stepped())

    vi.setSystemTime(start + 24 * 60 * minute)
    vi.advanceTimersByTime(14 * minute)
    const forward = share()
    vi.setSystemTime(start - 24 * 60 * minute)
    vi.advanceTimersByTime(minute)

    expect([forward, share()]).toEqual([0.01, 0.05])
  })

  test('that are paused in the middle of one go on with what was left of it', () => {
    const { shifts, share } = open(stepped())
    vi.advanceTimersByTime(10 * minute)

    shifts.order('risk', { kind: 'pause', ttlMs: null }, words).confirm()
    vi.advanceTimersByTime(600 * minute)
    const paused = shifts.get('risk')
    shifts.order('risk', { kind: 'resume' }, words).confirm()
    vi.advanceTimersByTime(5 * minute - 1)
    const before = share()
    vi.advanceTimersByTime(1)

    expect(paused).toMatchObject({ share: 0.01, paused: { ...words, until: null }, step: { nextAt: null } })
    expect([before, share()]).toEqual([0.01, 0.05])
  })

  test('go on when a pause has ended', () => {
    const { shifts, news, share } = open(stepped())

    shifts.order('risk', { kind: 'pause', ttlMs: 60 * minute }, words).confirm()
    vi.advanceTimersByTime(60 * minute)
    const ended = shifts.get('risk')?.paused
    vi.advanceTimersByTime(15 * minute)

    expect(ended).toBeNull()
    expect(news).toEqual(['risk pause ended 0.01', 'risk step 0.05'])
    expect(share()).toBe(0.05)
  })

  test.each<[string, ShiftOrder, object]>([
    ['an order', { kind: 'to', share: 0.06, ttlMs: 20 * minute }, { share: 0.06, step: { reached: 2 } }],
    ['a pause', { kind: 'pause', ttlMs: 20 * minute }, { share: 0.01, step: { reached: 1 } }],
  ])('that were to begin while no gateway ran make up for one, and %s of before them is over', (_, order, expected) => {
    const risk = stepped({ steps: steps(start + 10 * minute) })
    const { shifts: before } = open(risk)
    before.order('risk', order, words).confirm()
    const { record } = before.toKeep('risk') ?? {}
    if (record === undefined) throw new Error('risk has a candidate')
    const { shifts } = open(plan({ digest: 'b' }))

    shifts.prepare({ risk }, false, () => ({ record, ageMs: 600 * minute })).commit()
    const begun = shifts.get('risk')
    vi.advanceTimersByTime(15 * minute - 1)
    const still = shifts.get('risk')

    expect(begun).toMatchObject({ ...expected, cause: 'steps', until: null, paused: null })
    expect(begun?.step?.nextAt).toBe(start + 15 * minute)
    expect(still).toMatchObject(expected)
  })
})

describe('an order', () => {
  test('goes before the file, and says what holds when it ends', () => {
    const { shifts, news, share } = open(plan())

    const state = shifts.order('risk', { kind: 'to', share: 0.25, ttlMs: 60 * minute }, words).confirm()
    vi.advanceTimersByTime(60 * minute - 1)
    const held = share()
    vi.advanceTimersByTime(1)

    expect(state).toMatchObject({
      ...{ share: 0.25, cause: 'operator', ...words, since: start, until: start + 60 * minute },
      afterwards: { share: 0.05, cause: 'file' },
    })
    expect([held, share()]).toEqual([0.25, 0.05])
    expect(news).toEqual(['risk order ended 0.05'])
  })

  test('replaces another one, and its time', () => {
    const { shifts, news, share } = open(plan())
    shifts.order('risk', { kind: 'to', share: 0.25, ttlMs: 10 * minute }, words).confirm()

    shifts.order('risk', { kind: 'to', share: 0.1, ttlMs: 60 * minute }, words).confirm()
    vi.advanceTimersByTime(59 * minute)

    expect(share()).toBe(0.1)
    expect(news).toEqual([])
  })

  test('that ends leaves its clients where they are while there are steps, which go on from there', () => {
    const { shifts, share } = open(stepped())

    const state = shifts.order('risk', { kind: 'to', share: 0.3, ttlMs: 60 * minute }, words).confirm()
    vi.advanceTimersByTime(60 * minute)
    const ended = shifts.get('risk')
    vi.advanceTimersByTime(15 * minute)

    expect(state.afterwards).toEqual({ share: 0.3, cause: 'steps' })
    expect(ended).toMatchObject({ share: 0.3, cause: 'steps', step: { reached: 3, nextShare: 1 } })
    expect(share()).toBe(1)
  })

  test('of less than the steps have reached holds for its time, and then the step does, anew', () => {
    const { shifts, share } = open(stepped())
    vi.advanceTimersByTime(31 * minute)

    shifts.order('risk', { kind: 'to', share: 0.01, ttlMs: 5 * minute }, words).confirm()
    vi.advanceTimersByTime(5 * minute)
    const ended = share()
    vi.advanceTimersByTime(15 * minute - 1)
    const still = share()
    vi.advanceTimersByTime(1)

    expect([ended, still, share()]).toEqual([0.25, 0.25, 1])
  })

  test('does not hold up a start that the file has set', () => {
    const { shifts, share } = open(stepped({ steps: steps(start + 10 * minute) }))

    shifts.order('risk', { kind: 'to', share: 0.001, ttlMs: 20 * minute }, words).confirm()
    vi.advanceTimersByTime(20 * minute)

    expect(share()).toBe(0.01)
  })

  test('that is undone leaves what held before, with the time that it has left', () => {
    const { shifts, share } = open(plan())
    shifts.order('risk', { kind: 'to', share: 0.25, ttlMs: 60 * minute }, words).confirm()
    vi.advanceTimersByTime(20 * minute)

    shifts.order('risk', { kind: 'to', share: 0.5, ttlMs: 120 * minute }, words).undo()
    const undone = shifts.get('risk')
    vi.advanceTimersByTime(40 * minute)

    expect(undone).toMatchObject({ share: 0.25, until: start + 60 * minute })
    expect(share()).toBe(0.05)
  })

  test('that held at once, and is undone, leaves what has come since', () => {
    const { shifts, share } = open(plan())
    const abort = shifts.order('risk', { kind: 'abort' }, words)
    const aborted = share()
    shifts.order('risk', { kind: 'to', share: 0.5, ttlMs: 60 * minute }, words).confirm()

    abort.undo()

    expect([aborted, share()]).toEqual([0, 0.5])
  })

  test('that is undone leaves what has come since', () => {
    const { shifts } = open(plan())
    const change = shifts.order('risk', { kind: 'to', share: 0.5, ttlMs: 60 * minute }, words)

    shifts.takeBack('risk', 'it fails')
    change.undo()

    expect(shifts.get('risk')).toMatchObject({ share: 0, cause: 'guard' })
  })

  test('for a group without a candidate is a defect of the caller', () => {
    const { shifts } = open(plan())

    expect(() => shifts.order('market', { kind: 'to', share: 0.5, ttlMs: minute }, words)).toThrow(
      'market has no candidate',
    )
  })
})

describe('a takeback', () => {
  test('goes before the file, the steps and an order, and is told once', () => {
    const { shifts, news } = open(stepped())
    shifts.order('risk', { kind: 'to', share: 0.5, ttlMs: 60 * minute }, words).confirm()

    const first = shifts.takeBack('risk', 'it fails')
    const again = shifts.takeBack('risk', 'it still fails')
    const elsewhere = shifts.takeBack('market', 'it has no candidate')
    vi.advanceTimersByTime(600 * minute)

    expect([first, again, elsewhere]).toEqual([true, false, false])
    expect(news).toEqual(['risk taken back 0'])
    expect(shifts.get('risk')).toMatchObject({
      ...{ share: 0, cause: 'guard', isStopped: true, by: null, reason: 'it fails', since: start, until: null },
      step: { nextAt: null },
    })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('takes back what a share of 0 leaves as well: clients by name, and copies', () => {
    const { shifts } = open(plan({ share: 0 }))

    expect(shifts.takeBack('risk', 'it fails')).toBe(true)
    expect(shifts.get('risk')).toMatchObject({ share: 0, isStopped: true })
  })

  test('gives way to an order that comes after it, and holds again when that has ended', () => {
    const { shifts, news } = open(stepped())
    shifts.takeBack('risk', 'it fails')

    const state = shifts.order('risk', { kind: 'to', share: 0.1, ttlMs: 60 * minute }, words).confirm()
    vi.advanceTimersByTime(60 * minute)

    expect(state).toMatchObject({ share: 0.1, isStopped: false, afterwards: { share: 0, cause: 'guard' } })
    expect(shifts.get('risk')).toMatchObject({ share: 0, cause: 'guard', isStopped: true, reason: 'it fails' })
    expect(news.at(-1)).toBe('risk order ended 0')
  })

  test('can come again while an order holds that came after the first', () => {
    const { shifts } = open(plan())
    shifts.takeBack('risk', 'it fails')
    shifts.order('risk', { kind: 'to', share: 0.1, ttlMs: 60 * minute }, words).confirm()

    expect(shifts.takeBack('risk', 'it fails again')).toBe(true)
    expect(shifts.get('risk')).toMatchObject({ share: 0, reason: 'it fails again' })
  })

  test('ends when an operator resumes: the steps begin anew at the first', () => {
    const { shifts, share } = open(stepped({ steps: steps(start - 31 * minute) }))
    const before = share()
    shifts.takeBack('risk', 'it fails')

    shifts.order('risk', { kind: 'resume' }, words).confirm()
    const resumed = share()
    vi.advanceTimersByTime(15 * minute)

    expect([before, resumed, share()]).toEqual([0.25, 0.01, 0.05])
  })

  test('ends with another candidate in the file, and with the same one after it', () => {
    const { shifts, share } = open(plan())
    shifts.takeBack('risk', 'it fails')

    shifts.prepare({ risk: plan({ digest: 'b' }) }).commit()
    const other = share()
    shifts.prepare({ risk: plan() }).commit()

    expect([other, share()]).toEqual([0.05, 0.05])
  })

  test('holds again when a rollback brings its candidate back, also in the view before', () => {
    const { shifts, share } = open(plan())
    shifts.takeBack('risk', 'it fails')
    shifts.prepare({ risk: plan({ digest: 'b' }) }).commit()

    const view = shifts.prepare({ risk: plan() }, true).view.get('risk')
    shifts.prepare({ risk: plan() }, true).commit()

    expect(view).toMatchObject({ share: 0, reason: 'it fails' })
    expect(shifts.get('risk')).toMatchObject({ share: 0, cause: 'guard', reason: 'it fails' })
    expect(share()).toBe(0)
  })
})

describe('a rollback to a candidate', () => {
  const promote = (shifts: Shifts): void => shifts.prepare({}).commit()
  const kept = (shifts: Shifts) => {
    const own = shifts.toKeep('risk')
    if (own === null) throw new Error('risk has a candidate')
    shifts.markKept('risk', own)
    return { record: own.record, ageMs: 0 }
  }
  const rollBack = (shifts: Shifts, risk: ShiftPlan, found: KeptShift | string | null): ShiftState | null => {
    shifts.prepare({ risk }, true, () => found).commit()
    return shifts.get('risk')
  }

  test('begins its steps anew at the first, whenever the file says that they began', () => {
    const [risk, later] = [
      stepped({ steps: steps(start - 24 * 60 * minute) }),
      stepped({ steps: steps(start + minute) }),
    ]
    const [{ shifts }, { shifts: ahead }] = [open(risk), open(later)]
    for (const each of [shifts, ahead]) promote(each)

    const [begun, waiting] = [rollBack(shifts, risk, null), rollBack(ahead, later, null)]

    expect(begun).toMatchObject({ share: 0.01, step: { reached: 1, nextAt: start + 15 * minute } })
    expect(waiting).toMatchObject({ share: 0, step: { reached: 0, nextAt: start + minute } })
  })

  test.each<[string, ShiftOrder]>([
    ['steps', { kind: 'pause', ttlMs: null }],
    ['an order', { kind: 'to', share: 0.5, ttlMs: 60 * minute }],
  ])('does not go on with what is kept elsewhere: %s', (_, order) => {
    const { shifts } = open(stepped())
    vi.advanceTimersByTime(46 * minute)
    shifts.order('risk', order, words).confirm()
    const left = kept(shifts)
    promote(shifts)

    const begun = rollBack(shifts, stepped(), left)

    expect(begun).toMatchObject({ share: 0.01, cause: 'steps', paused: null, step: { reached: 1 } })
  })

  test('that waits for what is kept elsewhere begins its steps anew when that is known', () => {
    const { shifts } = open(stepped())
    vi.advanceTimersByTime(46 * minute)
    const left = kept(shifts)
    promote(shifts)

    const held = rollBack(shifts, stepped(), 'it is away')
    const { revision } = shifts.toKeep('risk') ?? {}
    shifts.takeUp('risk', 'a', left)

    expect(held).toMatchObject({ share: 0, cause: 'redis' })
    expect(shifts.get('risk')).toMatchObject({ share: 0.01, cause: 'steps', step: { reached: 1 } })
    expect(shifts.toKeep('risk')?.revision).not.toBe(revision)
  })

  test('goes on with what another gateway has begun anew since', () => {
    const [{ shifts }, { shifts: other }] = [open(stepped()), open(stepped())]
    vi.advanceTimersByTime(46 * minute)
    const left = kept(shifts)
    for (const each of [shifts, other]) promote(each)
    rollBack(other, stepped(), left)
    vi.advanceTimersByTime(16 * minute)
    other.order('risk', { kind: 'pause', ttlMs: null }, words).confirm()

    const found = rollBack(shifts, stepped(), kept(other))

    expect(found).toMatchObject({ share: 0.05, paused: words, step: { reached: 2 } })
  })

  test.each<[string, KeptShift | string | null]>([
    ['at once', null],
    ['when it is known', 'it is away'],
  ])('leaves a stop that is kept elsewhere: %s', (_, before) => {
    const [{ shifts }, { shifts: other }] = [open(stepped()), open(stepped())]
    other.takeBack('risk', 'it fails')
    promote(shifts)

    rollBack(shifts, stepped(), before ?? kept(other))
    if (before !== null) shifts.takeUp('risk', 'a', kept(other))

    expect(shifts.get('risk')).toMatchObject({ share: 0, isStopped: true, reason: 'it fails' })
  })

  test.each<[string, string | null]>([
    ['at once', null],
    ['when it is known', 'it is away'],
  ])('leaves a stop that what is kept elsewhere has never learnt of: %s', (_, before) => {
    const { shifts } = open(stepped())
    const left = kept(shifts)
    shifts.takeBack('risk', 'it fails')
    promote(shifts)

    rollBack(shifts, stepped(), before ?? left)
    shifts.takeUp('risk', 'a', left)

    expect(shifts.get('risk')).toMatchObject({ share: 0, isStopped: true, reason: 'it fails' })
    expect(shifts.toKeep('risk')).toMatchObject({ record: { stop: { cause: 'guard', reason: 'it fails' } } })
  })

  test('leaves the end of a stop that what is kept elsewhere has learnt of', () => {
    const { shifts } = open(stepped())
    shifts.takeBack('risk', 'it fails')
    const { record, ageMs } = kept(shifts)
    promote(shifts)

    const found = rollBack(shifts, stepped(), { record: { ...record, stop: null }, ageMs })

    expect(found).toMatchObject({ share: 0.01, isStopped: false })
  })
})

describe('an abort', () => {
  test('sets the share to 0 without an end, in the name of the operator', () => {
    const { shifts } = open(stepped())

    shifts.order('risk', { kind: 'abort' }, words).confirm()
    vi.advanceTimersByTime(24 * 60 * minute)

    expect(shifts.get('risk')).toMatchObject({ share: 0, cause: 'operator', isStopped: true, ...words, until: null })
  })

  test('leaves nothing to take back', () => {
    const { shifts, news } = open(plan())
    shifts.order('risk', { kind: 'abort' }, words).confirm()

    expect(shifts.takeBack('risk', 'it fails')).toBe(false)
    expect(news).toEqual([])
  })
})

describe('no client goes back', () => {
  type Event = (gateway: ReturnType<typeof open>) => void

  const goOn: Event = ({ shifts }) => {
    const kept = shifts.toKeep('risk')
    if (kept !== null) shifts.takeUp('risk', kept.digest, { record: kept.record, ageMs: 0 })
  }
  const anyEvent = (): fc.Arbitrary<Event> =>
    fc.oneof(
      fc.integer({ min: 1, max: 40 * minute }).map(
        (ms): Event =>
          () =>
            void vi.advanceTimersByTime(ms),
      ),
      fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 30 * minute })).map(
        ([more, ttlMs]): Event =>
          ({ shifts, share }) => {
            const to = (share() ?? 0) + more * (1 - (share() ?? 0))
            shifts.order('risk', { kind: 'to', share: to, ttlMs }, words).confirm()
          },
      ),
      fc.option(fc.integer({ min: 1, max: 30 * minute })).map(
        (ttlMs): Event =>
          ({ shifts }) =>
            void shifts.order('risk', { kind: 'pause', ttlMs }, words).confirm(),
      ),
      fc.constant<Event>(({ shifts }) => void shifts.order('risk', { kind: 'resume' }, words).confirm()),
      fc.constant<Event>(({ shifts }) => shifts.prepare({ risk: stepped(), market: plan() }).commit()),
      fc.constant(goOn),
    )

  test('whatever happens to steps, unless an operator or the guard says so', () => {
    fc.assert(
      fc.property(fc.array(anyEvent(), { maxLength: 30 }), (events) => {
        const gateway = open(stepped())
        let before = gateway.share() ?? 0

        for (const happen of events) {
          happen(gateway)
          const now = gateway.share() ?? 0
          expect(now).toBeGreaterThanOrEqual(before)
          before = now
        }
        gateway.shifts.clear()
      }),
      { numRuns: 60 },
    )
  })

  test('over a restart that finds the record of the one before, however long it took', () => {
    fc.assert(
      fc.property(fc.array(anyEvent(), { maxLength: 15 }), fc.nat(600 * minute), (events, ageMs) => {
        const gateway = open(stepped())
        for (const happen of events) happen(gateway)
        const [kept, before] = [gateway.shifts.toKeep('risk'), gateway.share() ?? 0]
        gateway.shifts.clear()
        if (kept === null) throw new Error('risk has a candidate')

        const after = new Shifts()
        opened.push(after)
        after.prepare({ risk: stepped() }, false, () => ({ record: kept.record, ageMs })).commit()

        expect(after.get('risk')?.share).toBeGreaterThanOrEqual(before)
        after.clear()
      }),
      { numRuns: 60 },
    )
  })
})

describe('an order that is not in effect yet', () => {
  const half = { kind: 'to', share: 0.5, ttlMs: 60 * minute } as const

  const keep = ({ shifts }: ReturnType<typeof open>) => {
    const own = shifts.toKeep('risk')
    if (own === null) throw new Error('risk has a candidate')
    shifts.markKept('risk', own)
    return own
  }

  /** Keeps what is to be kept, unless it was, and says what another gateway has made of it. */
  const takeUp = (opened: ReturnType<typeof open>, changes: object, own = keep(opened)): void => {
    opened.shifts.takeUp('risk', own.digest, { record: { ...own.record, ...changes }, ageMs: 0 })
  }
  const pause = { leftMs: null, by: 'another', reason: null, since: start }
  const stop = { cause: 'guard', by: null, reason: 'it fails', since: start } as const

  test('holds here, and is kept elsewhere when it is confirmed', () => {
    const { shifts, share } = open(plan())

    const order = shifts.order('risk', half, words)
    const before = [share(), shifts.toKeep('risk')?.record.order, shifts.toKeep('risk')?.revision]
    const { until } = order.confirm()

    expect(before).toEqual([0.5, null, 0])
    expect(until).toBe(start + 60 * minute)
    expect(shifts.toKeep('risk')).toMatchObject({ record: { order: { share: 0.5 } }, revision: 1 })
  })

  test('is kept elsewhere at once where it is an abort, and undone there too', () => {
    const opened = open(plan())
    const { shifts, share } = opened

    const abort = shifts.order('risk', { kind: 'abort' }, words)
    const kept = keep(opened)
    abort.undo()
    takeUp(opened, { pause }, kept)

    expect(kept.record.stop).toMatchObject({ cause: 'operator' })
    expect([share(), shifts.toKeep('risk')?.record.stop]).toEqual([0.05, null])
  })

  test('is undone whatever another gateway has said meanwhile, which stays', () => {
    const opened = open(stepped())
    const { shifts } = opened

    const order = shifts.order('risk', half, words)
    takeUp(opened, { pause, step: 1 })
    const meanwhile = shifts.get('risk')
    order.undo()

    expect(meanwhile).toMatchObject({ share: 0.5, paused: { by: 'another' } })
    expect(shifts.get('risk')).toMatchObject({ share: 0.05, paused: { by: 'another' } })
    expect(shifts.toKeep('risk')?.record.order).toBeNull()
  })

  test('comes after a takeback of another gateway that it did not know', () => {
    const opened = open(plan())
    const { shifts, news } = opened

    const order = shifts.order('risk', half, words)
    takeUp(opened, { stop })
    const confirmed = order.confirm()

    expect(confirmed).toMatchObject({ share: 0, isStopped: true, reason: 'it fails' })
    expect(shifts.toKeep('risk')?.record.order).toBeNull()
    expect(news).toEqual(['risk taken up 0'])
  })

  test('goes before a takeback that it knew', () => {
    const opened = open(plan())
    const { shifts, share } = opened
    takeUp(opened, { stop })

    const order = shifts.order('risk', half, words)
    takeUp(opened, { floor: 0.1 })
    order.confirm()

    expect([share(), shifts.toKeep('risk')?.record.floor]).toEqual([0.5, 0.1])
  })
})
