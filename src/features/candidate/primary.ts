import { divideConnections, processShare } from '../../core/config/process-share.ts'
import { formatPercent } from '../../core/lib/text/units.ts'
import type { Log } from '../../core/log/log.ts'
import { sum } from '../../core/log/sum-reports.ts'
import type { RecordAdminEvent } from '../../core/runtime/overrides.ts'
import type { PlacedProtections, PrimaryFeature, PrimaryGateway, PrimaryPart } from '../../core/runtime/primary-part.ts'
import { byGroup, type Group, groups } from '../../operations.ts'
import type { CandidateConfig } from './config/candidate.ts'
import type { createCandidateGuard } from './observe/guard/candidate-guard.ts'
import type { GuardReport } from './observe/guard/guard-counts.ts'
import { SharedShifts } from './shift/shared-shifts.ts'
import type { ShiftState } from './shift/shift-state.ts'
import { type ShiftNews, Shifts, type ShiftsView } from './shift/shifts.ts'

declare module '../../core/runtime/overrides.ts' {
  interface OverridesView {
    readonly shifts?: ShiftsView
  }
}

declare module '../../core/runtime/primary-part.ts' {
  interface PrimaryParts {
    readonly candidate: CandidatePart
  }
}

interface CandidatePart extends PrimaryPart {
  readonly shifts: Shifts
}

export const divide: Required<PrimaryFeature>['divide'] = ({ upstreams, ...config }, processes) => ({
  ...config,
  upstreams: byGroup((group) => {
    const { candidate, ...upstream } = upstreams[group]
    return { ...upstream, candidate: candidate && divideCandidate(candidate, processes) }
  }),
})

export const countFiles: Required<PrimaryFeature>['countFiles'] = ({ upstreams }, share) =>
  sum(groups.map((group) => share(upstreams[group].candidate?.shadow?.concurrency ?? 0)))

const divideCandidate = ({ upstream, shadow, ...candidate }: CandidateConfig, processes: number): CandidateConfig => ({
  ...candidate,
  upstream: divideConnections(upstream, processes),
  shadow: shadow && {
    ...shadow,
    concurrency: processShare(shadow.concurrency, processes),
    maxBytes: processShare(shadow.maxBytes, processes),
  },
})

export const protections: PlacedProtections = {
  after: 'tls.verify',
  value: groups.map((group) => ({
    path: `upstreams.${group}.candidate.tls.verify`,
    isOn: ({ upstreams }) => upstreams[group].candidate?.upstream.tls.verify ?? true,
  })),
}

export const open = ({ log, config, recordAdminEvent, reapply }: PrimaryGateway): CandidatePart => {
  const shifts = new Shifts((group, news, state) =>
    reapply(
      () => logShift(log, recordAdminEvent, group, news, state),
      (err) => log.error({ group, err }, 'a shift could not be put into effect'),
      // A slow worker must not keep sending clients there.
      state.isStopped,
    ),
  )
  /** The shifts that workers have: changes take effect a little later. */
  let inEffect: ShiftsView = shifts
  let guard: ReturnType<typeof createCandidateGuard> | null = null
  const shared = new SharedShifts(shifts, (level, event, fields) => log[level](fields, event))
  let isFirst = true
  return {
    shifts,
    overrides: { shifts },
    async prepare(next, isRollback) {
      if (groups.some((group) => next.upstreams[group].candidate?.guard))
        guard ??= (await import('./observe/guard/candidate-guard.ts')).createCandidateGuard(
          shifts,
          () => inEffect,
          config,
        )
      const { view, takenUp, discard, commit: commitShared } = await shared.prepare(next, isRollback)
      const commit = (): void => {
        commitShared()
        inEffect = view
        for (const group of takenUp) {
          const state = view.get(group)
          if (state !== null) logShift(log, recordAdminEvent, group, 'taken up', state)
        }
      }
      if (!isFirst) return { overrides: { shifts: view }, commit, discard }
      // Operators may send commands while the gateway starts.
      isFirst = false
      commit()
      return { overrides: { shifts: view } }
    },
    receive: (reports: readonly GuardReport[], from) => guard?.add(from, reports),
    onGone: (worker) => guard?.forget(worker),
    stop() {
      guard?.close()
      shared.close()
      shifts.clear()
    },
  }
}

export const logShift = (
  log: Log,
  recordAdminEvent: RecordAdminEvent,
  group: Group,
  news: ShiftNews,
  { share, cause, reason, step }: ShiftState,
): void => {
  const now = { group, share: formatPercent(share), cause }
  const logEvent = (level: 'info' | 'warn', event: string, fields: Parameters<RecordAdminEvent>[1]): void => {
    log[level](fields, event)
    recordAdminEvent(event, fields)
  }
  switch (news) {
    case 'step':
      return logEvent('info', 'shift step', { ...now, step: step && `${step.reached} of ${step.of}` })
    case 'override ended':
      return logEvent('info', 'shift override ended', now)
    case 'pause ended':
      return logEvent('info', 'shift pause ended', now)
    case 'taken up':
      return logEvent('info', 'shift taken up', { ...now, reason })
    case 'taken back':
      return logEvent('warn', 'shift taken back', { group, reason })
  }
}
