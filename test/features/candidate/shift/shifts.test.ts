import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { KeptShift, ShiftCommand, ShiftPlan } from '../../../../src/features/candidate/shift/shift-record.ts'
import { Shifts } from '../../../../src/features/candidate/shift/shifts.ts'

const start = 1_700_000_000_000
const minute = 60_000
const day = 24 * 60
const words = { by: '10.0.0.9', reason: 'rehearsal' }

beforeEach(() => void vi.useFakeTimers({ now: start }))
afterEach(() => {
  for (const each of opened.splice(0)) each.clear() // timers of one duration share one, also with the next test
  vi.useRealTimers()
})

const opened: Shifts[] = []

const pass = (minutes: number) => void vi.advanceTimersByTime(minutes * minute)

const plan = (changes: Partial<ShiftPlan> = {}): ShiftPlan => ({ digest: 'a', share: 0.05, steps: null, ...changes })
/** A plan with four steps of a quarter of an hour, which begin so many minutes from now; null: with the file. */
const stepped = (inMinutes: number | null = null, share = 0) => {
  const startedAt = inMinutes === null ? null : start + inMinutes * minute
  return plan({ share, steps: { shares: [0.01, 0.05, 0.25, 1], every: 15 * minute, startedAt } })
}

const to = (share: number, minutes: number) => ({ kind: 'to', share, ttlMs: minutes * minute }) as const
const pause = (minutes: number | null = null) =>
  ({ kind: 'pause', ttlMs: minutes === null ? null : minutes * minute }) as const
const abort = { kind: 'abort' } as const
const resume = { kind: 'resume' } as const

/** Opens shifts whose risk has a candidate with this plan, and records the news. */
const openShifts = (risk: ShiftPlan) => {
  const news: string[] = []
  const shifts = new Shifts((group, what, { share }) => news.push(`${group} ${what} ${share}`))
  opened.push(shifts)
  const edit = (next: ShiftPlan | null): void => shifts.prepare(next === null ? {} : { risk: next }).commit()
  edit(risk)
  const toKeep = () => {
    const own = shifts.toKeep('risk')
    if (own === null) throw new Error('risk has a candidate')
    return own
  }
  return {
    ...{ shifts, news, edit, toKeep },
    state: () => shifts.get('risk'),
    share: () => shifts.get('risk')?.share,
    command: (command: ShiftCommand) => shifts.command('risk', command, words),
    tell: (command: ShiftCommand) => shifts.command('risk', command, words).confirm(),
    takeBack: (reason = 'it fails') => shifts.takeBack('risk', reason),
    /** Keeps what is to be kept, as Redis does; returns what Redis has then. */
    keep() {
      const own = toKeep()
      shifts.markKept('risk', own)
      return { record: own.record, ageMs: 0 }
    },
  }
}

describe('the file', () => {
  test('a candidate has the share of the file, and a group without a candidate has none', () => {
    const { shifts, state } = openShifts(plan())

    expect(shifts.get('market')).toBeNull()
    expect(state()).toEqual({
      ...{ digest: 'a', share: 0.05, cause: 'file', isStopped: false, by: null, reason: null, since: start },
      ...{ until: null, afterwards: null, paused: null, step: null },
    })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('another candidate in the file ends the commands for the earlier one, and leaves no timer', () => {
    const { shifts, share, tell, edit } = openShifts(stepped())
    tell(to(0.5, 60))
    edit(plan({ digest: 'b' }))
    const other = share()
    edit(null)

    expect([other, shifts.all, vi.getTimerCount()]).toEqual([0.05, [], 0])
  })

  test('a reload with the same candidate changes nothing', () => {
    const { shifts, state, tell } = openShifts(stepped())
    pass(16)
    tell(to(0.5, 60))
    const before = state()
    pass(1)

    shifts.prepare({ risk: stepped(), market: plan() }).commit()

    expect(state()).toEqual(before)
  })

  test('prepare() returns the states under the next file, and changes nothing', () => {
    const { shifts, share, tell } = openShifts(plan())
    tell(to(0.5, 60))

    const same = shifts.prepare({ risk: plan() }).view
    const other = shifts.prepare({ risk: plan({ digest: 'b', share: 0.2 }), market: stepped() }).view

    expect(same.get('risk')?.share).toBe(0.5)
    expect(other.all.map(([group, state]) => `${group} ${state.share}`).sort()).toEqual(['market 0.01', 'risk 0.2'])
    expect([share(), shifts.get('market')]).toEqual([0.5, null])
  })
})

const takeBack = 'take back'

/** What happens, in its order: minutes that pass, commands, a takeback. */
type Story = readonly (number | ShiftCommand | typeof takeBack)[]

/** Lets a story happen; returns the share at its beginning, and after each part of it. */
const play = (gateway: ReturnType<typeof openShifts>, story: Story): readonly unknown[] => [
  gateway.share(),
  ...story.map((part) => {
    if (typeof part === 'number') pass(part)
    else if (part === takeBack) gateway.takeBack()
    else gateway.tell(part)
    return gateway.share()
  }),
]

const almost = 0.001 // of a minute
const first = Array<number>(6).fill(0.01)

describe('the share by and by', () => {
  test.each<[string, ShiftPlan, Story, readonly number[]]>([
    ['steps continue by themselves to the last', stepped(), [15, 15, 15, 600], [0.01, 0.05, 0.25, 1, 1]],
    ['steps begin at a time of the file', stepped(1), [1 - almost, almost], [0, 0, 0.01]],
    ['steps have begun at a time of the file', stepped(-20), [10], [0.05, 0.25]],
    ['steps wait for more days than a timer holds', stepped(40 * day), [39 * day, day], [0, 0, 0.01]],
    ['steps never go below the share of the file', stepped(null, 0.1), [31], [0.1, 0.25]],
    [
      'steps continue with the time before a pause',
      stepped(),
      [10, pause(), 600, resume, 5 - almost, almost],
      [...first, 0.05],
    ],
    ['steps continue when a pause has ended', stepped(), [pause(60), 60, 15], [0.01, 0.01, 0.01, 0.05]],
    [
      'an override takes precedence over the file',
      plan(),
      [to(0.25, 60), 60 - almost, almost],
      [0.05, 0.25, 0.25, 0.05],
    ],
    ['an override replaces another, and its time', plan(), [to(0.25, 10), to(0.1, 60), 59], [0.05, 0.25, 0.1, 0.1]],
    ['steps continue from an ended override', stepped(), [to(0.3, 60), 60, 15], [0.01, 0.3, 0.3, 1]],
    [
      'after an override below the reached step, that step restarts',
      stepped(),
      [31, to(0.01, 5), 5, 15 - almost, almost],
      [0.01, 0.25, 0.01, 0.25, 0.25, 1],
    ],
    ['an override does not delay startedAt', stepped(10), [to(0.001, 20), 20], [0, 0.001, 0.01]],
    ['an abort has no end', plan(), [abort, day], [0.05, 0, 0]],
    ['a takeback goes before steps and overrides', stepped(), [to(0.5, 60), takeBack, 600], [0.01, 0.5, 0, 0]],
    ['a later override goes before a takeback', stepped(), [takeBack, to(0.1, 60), 60], [0.01, 0, 0.1, 0]],
    [
      'a second takeback ends the override after the first',
      plan(),
      [takeBack, to(0.1, 60), takeBack],
      [0.05, 0, 0.1, 0],
    ],
    ['a resume restarts the steps', stepped(-31), [takeBack, resume, 15], [0.25, 0, 0.01, 0.05]],
  ])('%s', (_, risk, story, shares) => {
    expect(play(openShifts(risk), story)).toEqual(shares)
  })

  test('a jump of the wall clock does not change the share', () => {
    const { share } = openShifts(stepped())

    vi.setSystemTime(start + day * minute)
    pass(14)
    const forward = share()
    vi.setSystemTime(start - day * minute)
    pass(1)

    expect([forward, share()]).toEqual([0.01, 0.05])
  })
})

describe('the state, in words, and the news', () => {
  const byGuard = { share: 0, cause: 'guard', isStopped: true, by: null, reason: 'it fails', since: start }
  const stopped = { ...byGuard, until: null, afterwards: null }
  const afterStop = { isStopped: false, afterwards: { share: 0, cause: 'guard' } }
  const noStep = { nextAt: null }
  const overridden = { cause: 'operator', isStopped: false, ...words, since: start, until: start + 60 * minute }
  const [thirdStep, lastStep] = [
    { cause: 'steps', step: { reached: 3, nextShare: 1 } },
    { cause: 'steps', step: { reached: 4, of: 4, nextAt: null } },
  ]
  const told = 'risk taken back 0'

  test.each<[string, ShiftPlan, Story, object, readonly string[]]>([
    ['before the first step', stepped(1), [], { step: { reached: 0, nextShare: 0.01, nextAt: start + minute } }, []],
    ['of steps that began before', stepped(-20), [], { step: { reached: 2, nextAt: start + 10 * minute } }, []],
    ['of the last step', stepped(), [46], lastStep, ['risk step 0.05', 'risk step 0.25', 'risk step 1']],
    ['of a pause', stepped(), [pause()], { paused: { ...words, until: null }, step: noStep }, []],
    ['of a pause that has ended', stepped(), [pause(60), 60], { paused: null }, ['risk pause ended 0.01']],
    ['of an override', plan(), [to(0.25, 60)], { ...overridden, afterwards: { share: 0.05, cause: 'file' } }, []],
    ['of an override over steps', stepped(), [to(0.3, 60)], { afterwards: { share: 0.3, cause: 'steps' } }, []],
    ['of an override that has ended', stepped(), [to(0.3, 60), 60], thirdStep, ['risk override ended 0.3']],
    ['of an abort', stepped(), [abort], { cause: 'operator', isStopped: true, ...words, until: null }, []],
    ['of a takeback, told once', stepped(), [takeBack, takeBack, 600], { ...stopped, step: noStep }, [told]],
    ['of an override after a takeback', plan(), [takeBack, to(0.1, 60)], afterStop, [told]],
    ['of a takeback that holds again', plan(), [takeBack, to(0.1, 60), 60], stopped, [told, 'risk override ended 0']],
    ['of a takeback at a share of 0: clients by name, and copies', plan({ share: 0 }), [takeBack], stopped, [told]],
  ])('%s', (_, risk, story, expected, news) => {
    const gateway = openShifts(risk)
    play(gateway, story)

    expect(gateway.state()).toMatchObject(expected)
    expect(gateway.news).toEqual(news)
  })

  test('no timer runs while nothing is due', () => {
    for (const story of [[46], [takeBack], [abort]] satisfies readonly Story[]) play(openShifts(stepped()), story)

    expect(vi.getTimerCount()).toBe(0)
  })
})

test.each<[string, ShiftCommand, object]>([
  ['an override', to(0.06, 20), { share: 0.06, step: { reached: 2 } }],
  ['a pause', pause(20), { share: 0.01, step: { reached: 1 } }],
])('after a time without a gateway, steps catch up by one, and %s is over', (_, command, expected) => {
  const before = openShifts(stepped(10))
  before.tell(command)
  const { record } = before.toKeep()
  const { shifts, state } = openShifts(plan({ digest: 'b' }))

  shifts.prepare({ risk: stepped(10) }, false, () => ({ record, ageMs: 600 * minute })).commit()
  const begun = state()
  vi.advanceTimersByTime(15 * minute - 1)

  expect(begun).toMatchObject({ ...expected, cause: 'steps', until: null, paused: null })
  expect(begun?.step?.nextAt).toBe(start + 15 * minute)
  expect(state()).toMatchObject(expected)
})

test('an undone command restores the earlier override, with the time that it has left', () => {
  const { state, share, tell, command } = openShifts(plan())
  tell(to(0.25, 60))
  pass(20)

  command(to(0.5, 120)).undo()
  const undone = state()
  pass(40)

  expect(undone).toMatchObject({ share: 0.25, until: start + 60 * minute })
  expect(share()).toBe(0.05)
})

test('an undone command leaves later changes, also if it was an abort', () => {
  const [one, other] = [openShifts(plan()), openShifts(plan())]

  const aborted = one.command(abort)
  const before = one.share()
  one.tell(to(0.5, 60))
  aborted.undo()
  const pending = other.command(to(0.5, 60))
  other.takeBack()
  pending.undo()

  expect([before, one.share()]).toEqual([0, 0.5])
  expect(other.state()).toMatchObject({ share: 0, cause: 'guard' })
})

test('a command for a group without a candidate throws', () => {
  expect(() => openShifts(plan()).shifts.command('market', to(0.5, 1), words)).toThrow('market has no candidate')
})

test('takeBack() returns whether the candidate was not stopped before', () => {
  const { shifts, tell, takeBack } = openShifts(plan())
  tell(abort)
  const aborted = takeBack()
  tell(resume)

  expect([aborted, takeBack(), takeBack(), shifts.takeBack('market', 'it fails')]).toEqual([false, true, false, false])
})

test('a takeback ends with another candidate in the file, and stays ended when the first one is back', () => {
  const { share, edit, takeBack } = openShifts(plan())
  takeBack()
  edit(plan({ digest: 'b' }))
  const other = share()
  edit(plan())

  expect([other, share()]).toEqual([0.05, 0.05])
})

test('a takeback holds again when a rollback restores its candidate, already in the prepared view', () => {
  const { shifts, state, edit, takeBack } = openShifts(plan())
  takeBack()
  edit(plan({ digest: 'b' }))

  const { view, commit } = shifts.prepare({ risk: plan() }, true)
  commit()

  expect(view.get('risk')).toMatchObject({ share: 0, reason: 'it fails' })
  expect(state()).toMatchObject({ share: 0, cause: 'guard', reason: 'it fails' })
})

describe('a rollback to a candidate', () => {
  type Gateway = ReturnType<typeof openShifts>

  /** Promotes the candidate, and brings it back, where this is found elsewhere. */
  const rollBack = ({ shifts, edit, state }: Gateway, found: KeptShift | string | null, risk = stepped()) => {
    edit(null)
    shifts.prepare({ risk }, true, () => found).commit()
    return state()
  }
  const restarted = { share: 0.01, cause: 'steps', paused: null, step: { reached: 1 } }
  const stopped = { share: 0, isStopped: true, reason: 'it fails' }

  test.each([
    [-day, { share: 0.01, step: { reached: 1, nextAt: start + 15 * minute } }],
    [1, { share: 0, step: { reached: 0, nextAt: start + minute } }],
  ])('a rollback restarts the steps, which begin %d minutes from now', (inMinutes, expected) => {
    const risk = stepped(inMinutes)

    expect(rollBack(openShifts(risk), null, risk)).toMatchObject(expected)
  })

  test.each<[string, ShiftCommand]>([
    ['steps', pause()],
    ['an override', to(0.5, 60)],
  ])('a rollback does not continue the record in Redis: %s', (_, command) => {
    const gateway = openShifts(stepped())
    pass(46)
    gateway.tell(command)

    expect(rollBack(gateway, gateway.keep())).toMatchObject(restarted)
  })

  test('a rollback that waits for the record in Redis restarts its steps when the record is read', () => {
    const gateway = openShifts(stepped())
    pass(46)
    const left = gateway.keep()

    const held = rollBack(gateway, 'it is away')
    const { revision } = gateway.toKeep()
    gateway.shifts.takeUp('risk', 'a', left)

    expect(held).toMatchObject({ share: 0, cause: 'redis' })
    expect(gateway.state()).toMatchObject(restarted)
    expect(gateway.toKeep().revision).not.toBe(revision)
  })

  test('a rollback continues the steps that another gateway has restarted', () => {
    const [gateway, other] = [openShifts(stepped()), openShifts(stepped())]
    pass(46)
    rollBack(other, gateway.keep())
    pass(16)
    other.tell(pause())

    expect(rollBack(gateway, other.keep())).toMatchObject({ share: 0.05, paused: words, step: { reached: 2 } })
  })

  describe.each([
    ['at once', null],
    ['when it is known', 'it is away'],
  ])('%s', (_, before) => {
    test.each([
      ['is kept elsewhere', false],
      ['what is kept elsewhere has never learned of', true],
    ])('leaves a stop that %s', (_, isOwn) => {
      const [gateway, other] = [openShifts(stepped()), openShifts(stepped())]
      if (!isOwn) other.takeBack()
      const left = other.keep()
      if (isOwn) gateway.takeBack()

      rollBack(gateway, before ?? left)
      gateway.shifts.takeUp('risk', 'a', left)

      expect(gateway.state()).toMatchObject(stopped)
      expect(gateway.toKeep().record.stop).toMatchObject({ cause: 'guard', reason: 'it fails' })
    })
  })

  test('a rollback leaves a stop ended that another gateway has ended in Redis', () => {
    const gateway = openShifts(stepped())
    gateway.takeBack()
    const { record, ageMs } = gateway.keep()

    expect(rollBack(gateway, { record: { ...record, stop: null }, ageMs })).toMatchObject({
      share: 0.01,
      isStopped: false,
    })
  })
})

describe('no client goes back', () => {
  const events = {
    wait: (_, ttlMs) => pass(ttlMs / minute),
    raise({ share, tell }, ttlMs, more) {
      const now = share() ?? 0
      tell({ kind: 'to', share: now + more * (1 - now), ttlMs })
    },
    pause: ({ tell }, ttlMs) => void tell({ kind: 'pause', ttlMs }),
    stay: ({ tell }) => void tell(pause()),
    resume: ({ tell }) => void tell(resume),
    edit: ({ edit }) => edit(stepped()),
    takeUp: ({ shifts, toKeep }) => shifts.takeUp('risk', toKeep().digest, { record: toKeep().record, ageMs: 0 }),
  } satisfies Record<string, (gateway: ReturnType<typeof openShifts>, ttlMs: number, more: number) => void>
  const anyEvent = fc.record({
    name: fc.constantFrom('wait' as const, ...(Object.keys(events) as (keyof typeof events)[])),
    ttlMs: fc.integer({ min: 1, max: 40 * minute }),
    more: fc.double({ min: 0, max: 1, noNaN: true }),
  })

  test('no client moves back during steps, unless an operator or the guard decides so', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 30 }), (history) => {
        const gateway = openShifts(stepped())
        let before = gateway.share() ?? 0

        for (const { name, ttlMs, more } of history) {
          events[name](gateway, ttlMs, more)
          const now = gateway.share() ?? 0
          expect(now).toBeGreaterThanOrEqual(before)
          before = now
        }
        gateway.shifts.clear()
      }),
      { numRuns: 60 },
    )
  })
})

describe('a command that is not in effect yet', () => {
  const half = to(0.5, 60)

  /** Keeps what is to be kept, unless it was, and says what another gateway has made of it. */
  const takeUp = ({ shifts, keep }: ReturnType<typeof openShifts>, changes: object, { record } = keep()): void =>
    shifts.takeUp('risk', 'a', { record: { ...record, ...changes }, ageMs: 0 })
  const paused = { leftMs: null, by: 'another', reason: null, since: start }
  const stop = { cause: 'guard', by: null, reason: 'it fails', since: start } as const

  test('a pending command holds here at once, and is written to Redis when confirmed', () => {
    const { share, command, toKeep } = openShifts(plan())

    const pending = command(half)
    const before = [share(), toKeep().record.override, toKeep().revision]
    const { until } = pending.confirm()

    expect(before).toEqual([0.5, null, 0])
    expect(until).toBe(start + 60 * minute)
    expect(toKeep()).toMatchObject({ record: { override: { share: 0.5 } }, revision: 1 })
  })

  test('an abort is written to Redis at once, and so is its undo', () => {
    const gateway = openShifts(plan())

    const aborted = gateway.command(abort)
    const kept = gateway.keep()
    aborted.undo()
    takeUp(gateway, { pause: paused }, kept)

    expect(kept.record.stop).toMatchObject({ cause: 'operator' })
    expect([gateway.share(), gateway.toKeep().record.stop]).toEqual([0.05, null])
  })

  test('an undone command leaves the command of another gateway in effect', () => {
    const gateway = openShifts(stepped())

    const pending = gateway.command(half)
    takeUp(gateway, { pause: paused, step: 1 })
    const meanwhile = gateway.state()
    pending.undo()

    expect(meanwhile).toMatchObject({ share: 0.5, paused: { by: 'another' } })
    expect(gateway.state()).toMatchObject({ share: 0.05, paused: { by: 'another' } })
    expect(gateway.toKeep().record.override).toBeNull()
  })

  test('a pending command gives way to a takeback by another gateway that it did not know', () => {
    const gateway = openShifts(plan())
    const pending = gateway.command(half)
    takeUp(gateway, { stop })
    const confirmed = pending.confirm()

    expect(confirmed).toMatchObject({ share: 0, isStopped: true, reason: 'it fails' })
    expect([gateway.toKeep().record.override, gateway.news]).toEqual([null, ['risk taken up 0']])
  })

  test('a pending command overrides a takeback that it knew', () => {
    const gateway = openShifts(plan())
    takeUp(gateway, { stop })
    const pending = gateway.command(half)
    takeUp(gateway, { floor: 0.1 })
    pending.confirm()

    expect([gateway.share(), gateway.toKeep().record.floor]).toEqual([0.5, 0.1])
  })
})
