/** When the guard acts, and what becomes of news of shifts, on a clock that is not real. */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Config } from '../../../src/core/config/config.ts'
import { neededFiles } from '../../../src/core/runtime/gateway.ts'
import { createReapply } from '../../../src/core/runtime/overrides.ts'
import { createCandidateGuard } from '../../../src/features/candidate/observe/guard/candidate-guard.ts'
import { open } from '../../../src/features/candidate/primary.ts'
import { listShiftPlans, type ShiftRecord } from '../../../src/features/candidate/shift/shift-record.ts'
import { guardEra } from '../../../src/features/candidate/shift/shift-state.ts'
import { Shifts } from '../../../src/features/candidate/shift/shifts.ts'
import { logInMemory, type Settings, testConfig } from '../../helpers/gateway.ts'
import { reportOf, type SideEvents } from './observe/guard/side-events.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_000_000 }))
afterEach(() => {
  for (const close of opened.splice(0)) close()
  vi.useRealTimers()
})

const opened: (() => void)[] = []

const configs = new Map<string, Config>()

/** Returns the configuration of some settings, which is read once. */
const configOf = (settings: Settings): Config => {
  const key = JSON.stringify(settings)
  const config = configs.get(key) ?? testConfig(settings)
  configs.set(key, config)
  return config
}

const clients = Array.from({ length: 8 }, (_, client) => client)
const primary: SideEvents = { side: 'primary', responded: 500 }
const failing = clients.map((client): SideEvents => ({ client, failed: 10 }))
const bad = [primary, ...failing]
/** Evidence that is enough only with the other half. */
const [half, otherHalf] = [[primary, ...failing.slice(0, 4)], failing.slice(4)]
const takenBack = { share: 0, isStopped: true, cause: 'guard' }
const steps = { shares: ['10%', '50%'], every: '10s' }

/** Opens the guard of a candidate of `market`, whose shift is real. */
const openGuard = (candidate: object) => {
  const market = { endpoints: ['http://a'], candidate: { endpoints: ['http://b'], ...candidate } }
  const settings = { upstreams: { market } }
  let config = configOf(settings)
  const shifts = new Shifts(() => apply())
  let inEffect = shifts.prepare({}).view
  /** Puts what holds into effect, as a gateway does. */
  const apply = (): void => {
    if (!own.isApplied) return
    const prepared = shifts.prepare(listShiftPlans(config))
    prepared.commit()
    inEffect = prepared.view
  }
  const own = { isApplied: true }
  apply()
  const shiftsInEffect = vi.fn(() => inEffect)
  const guard = createCandidateGuard(shifts, shiftsInEffect, () => config)
  opened.push(() => {
    guard.close()
    shifts.clear()
  })
  /** Reports what a worker has counted, with the share that is in effect. */
  const report = (events: readonly SideEvents[], source = 'one', era = guardEra(inEffect.get('market'))) =>
    guard.add(source, [reportOf(events, era)])
  const state = () => shifts.get('market')
  return {
    ...{ shifts, guard, shiftsInEffect, apply, report, state },
    /** Has nothing come into effect, as while a worker hangs. */
    hang: () => Object.assign(own, { isApplied: false }),
    judge(...of: Parameters<typeof report>) {
      report(...of)
      vi.advanceTimersByTime(1000)
      return state()
    },
    /** Has another gateway say something else than is said here. */
    hear(change: (record: ShiftRecord) => Partial<ShiftRecord>) {
      const kept = shifts.toKeep('market')
      if (kept === null) throw new Error('market has a candidate')
      shifts.markKept('market', kept)
      shifts.takeUp('market', kept.digest, { record: { ...kept.record, ...change(kept.record) }, ageMs: 0 })
    },
    edit(more: object) {
      config = configOf({ ...settings, ...more })
      apply()
    },
  }
}

test('the guard judges the counts of all processes together, within a second', () => {
  const { report, judge } = openGuard({ share: '50%' })
  report([primary], 'one')
  vi.advanceTimersByTime(500)
  for (const [nth, each] of failing.slice(1).entries()) report([each], `worker ${nth}`)

  expect(judge(failing.slice(0, 1))).toMatchObject({ ...takenBack, reason: expect.stringContaining('100 %') })
})

test('the guard judges nothing without reports, and leaves no timer', () => {
  const { judge, shiftsInEffect } = openGuard({ share: '50%' })
  judge([{ responded: 1 }])
  shiftsInEffect.mockClear()
  vi.advanceTimersByTime(60_000)

  expect([shiftsInEffect.mock.calls, vi.getTimerCount()]).toEqual([[], 0])
})

test('guard: none takes no candidate back', () => {
  expect(openGuard({ share: '50%', guard: 'none' }).judge(bad)).toMatchObject({ share: 0.5 })
})

test('counts of an earlier step are no evidence for the next, even if they arrive late', () => {
  const { report, judge, state } = openGuard({ steps })
  const before = guardEra(state())
  report(failing.slice(0, 4))
  vi.advanceTimersByTime(10_000)

  expect(judge([primary, ...otherHalf], 'one', before)).toMatchObject({ share: 0.5, step: { reached: 2 } })
  expect(judge(bad)).toMatchObject(takenBack)
})

test('evidence survives the same share from another gateway, and an edit of another key', () => {
  const [one, other] = [openGuard({ share: '50%' }), openGuard({ steps })]
  const earlier = ({ since }: ShiftRecord) => ({ since: since - 300 })

  one.hear(earlier)
  expect(one.judge(bad)).toMatchObject(takenBack)

  vi.advanceTimersByTime(9_000)
  other.report(bad)
  other.hear(earlier)
  other.apply()
  expect(other.judge([])).toMatchObject(takenBack)
})

test('a repeated command at another gateway restarts the evidence here at once', () => {
  const { report, judge, shifts, apply, hear } = openGuard({ share: '10%' })
  const words = { by: 'operator', reason: null }
  shifts.command('market', { kind: 'to', share: 0.5, ttlMs: 600_000 }, words).confirm()
  apply()

  report(half)
  hear(({ override }) => ({ override: override && { ...override, since: override.since + 1 } }))

  expect(judge(otherHalf)).toMatchObject({ share: 0.5, isStopped: false })
  expect(judge(bad)).toMatchObject(takenBack)
})

test('the guard judges the share in effect, not a step that workers do not have yet', () => {
  const { judge, hang } = openGuard({ steps })
  hang()
  vi.advanceTimersByTime(10_000)

  expect(judge(bad)).toMatchObject({ isStopped: true, step: { reached: 2 } })
})

test('a takeback stops the steps, and a resume restarts them at the first, with new evidence', () => {
  const { judge, state, shifts, apply } = openGuard({ steps })
  judge(bad)
  vi.advanceTimersByTime(60_000)
  expect(state()).toMatchObject({ share: 0, step: { reached: 1, nextAt: null } })

  shifts.command('market', { kind: 'resume' }, { by: 'operator', reason: null }).confirm()
  apply()

  expect(judge([{ responded: 1 }])).toMatchObject({ share: 0.1, isStopped: false, step: { reached: 1 } })
  expect(judge(bad)).toMatchObject({ isStopped: true })
})

const another = { market: { endpoints: ['http://a'], candidate: { endpoints: ['http://c'], share: '50%' } } }

test.each([
  ['something else leaves the evidence as it is', { log: { level: 'warn' } }, true],
  ['the candidate does not', { upstreams: another }, false],
])('an edit of %s', (_, more, isStopped) => {
  const { report, judge, edit } = openGuard({ share: '50%' })
  report(half)
  edit(more)

  expect(judge(otherHalf)).toMatchObject({ isStopped })
})

test.each([
  ['while one of its endpoints is left', ['http://a'], ['http://a', 'http://d'], true],
  ['no more when all were replaced, as by a candidate', ['http://b'], ['http://b'], false],
])('what the primary did before counts %s', (_, between, endpoints, isStopped) => {
  const { judge, edit, state } = openGuard({ share: '50%' })
  judge([primary, ...clients.map((client) => ({ client, responded: 10 }))])

  edit({ upstreams: { market: { endpoints: between } } })
  vi.advanceTimersByTime(60_000)
  edit({ upstreams: { market: { endpoints, candidate: { endpoints: ['http://c'], share: '100%' } } } })
  for (let second = 0; second < 60; second++) judge(clients.map((client) => ({ client, slow: [2, 200] })))

  expect(state()).toMatchObject({ isStopped })
})

test('waiting requests of a process that has ended are forgotten', () => {
  const { report, guard, judge } = openGuard({ share: '50%' })
  const waiting = clients.map((client): SideEvents => ({ client, waiting: [20, 9000] }))
  report([primary])

  report(waiting, 'ended')
  guard.forget('ended')

  expect(judge([])).toMatchObject({ isStopped: false })
  const reason = expect.stringContaining(' waited longer than ')
  expect(judge(waiting, 'another')).toMatchObject({ isStopped: true, reason })
})

describe('news of a shift', () => {
  const boot = (reapply: (isUrgent: boolean) => Promise<void>) => {
    const { log, lines } = logInMemory()
    const recordAdminEvent = vi.fn()
    const { shifts } = open({
      log,
      recordAdminEvent,
      reapply: createReapply(reapply, () => false),
      droppedLines: () => 0,
      config: () => configOf({}),
      channel: { notify: () => {} },
    })
    shifts.prepare({ risk: { digest: 'a', share: 0.05, steps: null } }).commit()
    return { shifts, lines, recordAdminEvent }
  }

  test('a takeback is put into effect, logged and recorded, with its reason', async () => {
    const reapply = vi.fn(async (_isUrgent: boolean) => {})
    const { shifts, lines, recordAdminEvent } = boot(reapply)

    shifts.takeBack('risk', 'it fails')
    await vi.advanceTimersByTimeAsync(0)

    expect(reapply.mock.calls).toEqual([[true]])
    expect(lines).toMatchObject([{ level: 40, msg: 'shift taken back', group: 'risk', reason: 'it fails' }])
    expect(recordAdminEvent.mock.calls).toEqual([['shift taken back', { group: 'risk', reason: 'it fails' }]])
  })

  test('a change that workers do not take up is tried again each second', async () => {
    const reapply = vi.fn(async (_isUrgent: boolean) => {})
    reapply.mockRejectedValueOnce(new Error('worker 1 hangs'))
    const { shifts, lines } = boot(reapply)

    shifts.takeBack('risk', 'it fails')
    await vi.advanceTimersByTimeAsync(1100)

    expect(lines.map(({ msg }) => msg)).toEqual(['a shift could not be put into effect', 'shift taken back'])
    expect(reapply).toHaveBeenCalledTimes(2)
  })

  test('a step and the end of an override are put into effect and logged', async () => {
    const { shifts, lines } = boot(async () => {})
    const steps = { shares: [0.01, 0.05, 1], every: 1000, startedAt: null }
    shifts.prepare({ risk: { digest: 'b', share: 0, steps } }).commit()

    await vi.advanceTimersByTimeAsync(1000)
    shifts.command('risk', { kind: 'to', share: 0.5, ttlMs: 500 }, { by: null, reason: null }).confirm()
    await vi.advanceTimersByTimeAsync(500)

    expect(lines).toMatchObject([
      { msg: 'shift step', group: 'risk', share: '5%', cause: 'steps', step: '2 of 3' },
      { msg: 'shift override ended', group: 'risk', share: '50%', cause: 'steps' },
    ])
    shifts.clear()
  })
})

test('the needed files count each candidate and each endpoint', () => {
  const candidate = { endpoints: ['http://192.0.2.3'], maxConnections: 7, shadow: { sample: '1%', concurrency: 3 } }
  const upstreams = { risk: { endpoints: ['http://192.0.2.1', 'http://192.0.2.2'], candidate } }
  const config = testConfig({ upstreams, listen: { maxConnections: 1 }, defaults: { maxConnections: 10 } })

  expect(neededFiles(config, 1)).toBe(1 + 9 * 10 + 7 + 3 + 512)
})
