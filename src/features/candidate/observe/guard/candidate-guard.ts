import type { Config, EndpointConfig } from '../../../../core/config/config.ts'
import { now, unrefTimeout } from '../../../../core/lib/clock.ts'
import { shareEndpoint } from '../../../../core/runtime/reload/new-endpoints.ts'
import { type Group, groups } from '../../../../operations.ts'
import { guardEra } from '../../shift/shift-state.ts'
import type { Shifts, ShiftsView } from '../../shift/shifts.ts'
import type { GuardReport } from './guard-counts.ts'
import { describeVerdict, judgeCandidate } from './guard-judge.ts'
import { GuardWindow } from './guard-window.ts'

const judgeEveryMs = 1000

/** Judges each second while processes report. */
export const createCandidateGuard = (
  shifts: Pick<Shifts, 'takeBack'>,
  shiftsInEffect: () => Pick<ShiftsView, 'get'>,
  config: () => Pick<Config, 'upstreams'>,
) => {
  const windows = new Map<Group, { windowMs: number; primary: readonly EndpointConfig[]; window: GuardWindow }>()
  let stop: (() => void) | null = null
  let judgedAt = Number.NEGATIVE_INFINITY

  /** Starts again at each change of share, and when the primary keeps no endpoint: another primary is no evidence. */
  const findWindow = (group: Group) => {
    const { candidate, endpoints: primary } = config().upstreams[group]
    const rules = candidate?.guard ?? null
    if (rules === null) {
      windows.delete(group)
      return null
    }
    const known = windows.get(group)
    const isKnown = known?.windowMs === rules.window && shareEndpoint(known.primary, primary)
    const window = isKnown ? known.window : new GuardWindow(rules.window)
    windows.set(group, { windowMs: rules.window, primary, window })
    window.begin(guardEra(shiftsInEffect().get(group)))
    return { rules, window }
  }

  const judge = (): void => {
    const at = now()
    stop = null
    judgedAt = at
    for (const group of groups) {
      const found = windows.has(group) ? findWindow(group) : null
      if (found === null) continue
      found.window.advance(at)
      const verdict = judgeCandidate(found.window.evidence, found.rules)
      if (verdict !== null) shifts.takeBack(group, describeVerdict(verdict, found.rules.window))
    }
  }

  return {
    add(source: string, reports: readonly GuardReport[]): void {
      const at = now()
      for (const report of reports) findWindow(report.group)?.window.add(source, report, at)
      stop ??= unrefTimeout(judgedAt + judgeEveryMs - at, judge)
    },
    forget(source: string): void {
      for (const { window } of windows.values()) window.forget(source)
    },
    close(): void {
      stop?.()
      stop = null
      windows.clear()
    },
  }
}
