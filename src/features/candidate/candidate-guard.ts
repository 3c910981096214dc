import type { Config, EndpointConfig } from '../../core/config/config.ts'
import { now, unrefTimeout } from '../../core/lib/clock.ts'
import { shareEndpoint } from '../../core/runtime/reload/new-endpoints.ts'
import { type Group, groups } from '../../operations.ts'
import type { GuardReport } from './observe/guard/guard-counts.ts'
import { describeVerdict, judgeCandidate } from './observe/guard/guard-judge.ts'
import { GuardWindow } from './observe/guard/guard-window.ts'
import { guardEra } from './shift/shift-state.ts'
import type { Shifts, ShiftsView } from './shift/shifts.ts'

type OnGuardReports = (source: string, reports: readonly GuardReport[]) => void

interface CandidateGuardOptions {
  readonly shifts: Pick<Shifts, 'takeBack'>
  /** The shifts in effect: processes count under these. */
  shiftsInEffect(): Pick<ShiftsView, 'get'>
  config(): Pick<Config, 'upstreams'>
}

const judgeEveryMs = 1000

interface OpenWindow {
  readonly windowMs: number
  readonly primary: readonly EndpointConfig[]
  readonly window: GuardWindow
}

/** Takes back a candidate that is worse than its primary. Judges each second while processes report. */
export class CandidateGuard {
  readonly #options: CandidateGuardOptions
  readonly #windows = new Map<Group, OpenWindow>()
  #stop: (() => void) | null = null
  #judgedAt = Number.NEGATIVE_INFINITY

  constructor(options: CandidateGuardOptions) {
    this.#options = options
  }

  readonly add: OnGuardReports = (source, reports) => {
    const at = now()
    for (const report of reports) {
      const window = this.#windowOf(report.group)
      window?.add(source, report, at)
    }
    this.#stop ??= unrefTimeout(this.#judgedAt + judgeEveryMs - at, () => this.#judge())
  }

  /** Forgets the waiting requests of a process that has ended. */
  forget(source: string): void {
    for (const { window } of this.#windows.values()) window.forget(source)
  }

  close(): void {
    this.#stop?.()
    this.#stop = null
    this.#windows.clear()
  }

  /**
   * Starts again at each change of share, and when no endpoint of the primary remains, as the old primary is no
   * evidence about the new one. Null: no guard.
   */
  #windowOf(group: Group): GuardWindow | null {
    const { candidate, endpoints: primary } = this.#options.config().upstreams[group]
    const rules = candidate?.guard ?? null
    if (rules === null) {
      this.#windows.delete(group)
      return null
    }
    const known = this.#windows.get(group)
    const isKnown = known?.windowMs === rules.window && shareEndpoint(known.primary, primary)
    const window = isKnown ? known.window : new GuardWindow(rules.window)
    this.#windows.set(group, { windowMs: rules.window, primary, window })
    window.begin(guardEra(this.#options.shiftsInEffect().get(group)))
    return window
  }

  #judge(): void {
    const at = now()
    this.#stop = null
    this.#judgedAt = at
    const { upstreams } = this.#options.config()
    for (const group of groups) {
      const rules = upstreams[group].candidate?.guard ?? null
      const window = this.#windows.has(group) ? this.#windowOf(group) : null
      if (rules === null || window === null) continue
      window.advance(at)
      const verdict = judgeCandidate(window.evidence, rules)
      if (verdict !== null) this.#options.shifts.takeBack(group, describeVerdict(verdict, rules.window))
    }
  }
}
