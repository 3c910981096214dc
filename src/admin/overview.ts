import { catalog, type Group, type Operation, type OperationId } from '../catalog.ts'
import { wallClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { type Change, changedGroups } from '../config/diff.ts'
import type { Problem } from '../config/problem.ts'
import type { Reloaded } from '../snapshot/reload-history.ts'
import type { Report } from '../snapshot/report.ts'
import type { Desk } from './desk.ts'
import { groupOutage } from './findings/outage.ts'
import { type History, type Pace, stepSeconds } from './history.ts'
import { type RefusalView, refusalView } from './refusals.ts'
import { type Status, statusOf } from './status.ts'
import { time } from './time.ts'

/** Is all that somebody on call wants to see at once: what the page shows, and `top`. Times are RFC 3339. */
export interface Overview {
  readonly at: string
  /** What /status says. */
  readonly status: Status
  /** The nine, in the order of the catalog. */
  readonly operations: readonly OperationView[]
  /** Newest first. */
  readonly reloads: readonly ReloadView[]
  /** Newest first: at most 100 of the nine, and 100 that were none of them. */
  readonly refusals: readonly RefusalView[]
}

/** Is one of the nine. Rates are of a second, over the last ten; latencies are of the last minute. */
export interface OperationView {
  readonly id: OperationId
  readonly group: Group
  readonly method: string
  readonly path: string
  readonly state: 'serve' | 'refuse'
  /** Whether every request of the last ten seconds that was let in has failed; without any, whether no endpoint of its group serves. */
  readonly failing: boolean
  /** When an operator's word on that ends; null: the file's holds. */
  readonly until: string | null
  /** Null: nothing is counted, or not for long enough. */
  readonly pace: PaceView | null
  /** Null: nothing is counted. */
  readonly history: {
    readonly stepSeconds: number
    /** Oldest first; each list has one for each step. */
    readonly perSecond: readonly number[]
    readonly errorsPerSecond: readonly number[]
    readonly p99Ms: readonly (number | null)[]
  } | null
}

export interface PaceView extends Pace {
  readonly inFlight: number
}

/** Is what came of a reload. */
export interface ReloadView {
  readonly at: string
  readonly trigger: string
  readonly result: 'applied' | 'unchanged' | 'refused'
  /** Of the configuration that runs since. */
  readonly hash: string
  readonly groups: readonly string[]
  readonly changes: readonly Change[]
  readonly problems: readonly Problem[]
  /** Whether it waits for what it brings to be reached. */
  readonly held: boolean
}

/** Tells all at once. */
export const overview = async (desk: Desk): Promise<Overview> => {
  const report = await desk.report()
  const status = await statusOf(desk, report)
  const { config, history } = desk.reloader
  return {
    at: time(wallClock()),
    status,
    operations: catalog.map((each) => operationView(each, status, report, desk)),
    reloads: history.last.map(reloadView),
    refusals: refusalViews(report, config),
  }
}

/** Tells of the last refusals alone. */
export const refused = async ({ report, reloader }: Desk) => ({
  ...refusalsOf(await report(), reloader.config),
})

const refusalsOf = (all: Report, config: Config) => ({
  refusals: refusalViews(all, config),
  /** Those since the start: who asks again sees how many there were meanwhile. */
  total: all.refusals.total,
})

const refusalViews = ({ refusals }: Report, { listen }: Config): readonly RefusalView[] =>
  refusals.last.map((refusal) => refusalView(refusal, listen))

const operationView = (
  { id, group, method, path }: Operation,
  { operations }: Status,
  report: Report,
  { history, reloader: { config } }: Desk,
): OperationView => {
  const { meter } = report
  const { state, until } = operations[id] ?? { state: 'serve' as const, until: null }
  const pace = meter === null ? null : history.pace(id, meter)
  return {
    ...{ id, group, method, path, state, until },
    failing: pace !== null && pace.perSecond > 0 ? fails(pace) : groupOutage(group, { report, config }) !== null,
    pace: pace && meter && { inFlight: meter.operations[id].inFlight, ...pace },
    history: meter && historyView(history, id),
  }
}

/** Tells whether every request failed that was not refused for what its client did. Rates are of one time: an epsilon is for their rounding. */
const fails = ({ perSecond, errorsPerSecond, refusedPerSecond }: Pace): boolean =>
  errorsPerSecond > 0 && errorsPerSecond + refusedPerSecond > perSecond - 1e-6

const historyView = (history: History, id: OperationId): OperationView['history'] => {
  const steps = history.steps(id)
  return {
    stepSeconds,
    perSecond: steps.map(({ perSecond }) => perSecond),
    errorsPerSecond: steps.map(({ errorsPerSecond }) => errorsPerSecond),
    p99Ms: steps.map(({ p99Ms }) => p99Ms),
  }
}

const reloadView = ({ at, trigger, outcome }: Reloaded): ReloadView => {
  const { result } = outcome
  const common = { at: time(at), trigger, result }
  if (outcome.result === 'refused') {
    const { hash, problems, held } = outcome
    return { ...common, hash, groups: [], changes: [], problems, held: held !== null }
  }
  const { to: hash, changes } = outcome
  return { ...common, hash, groups: changedGroups(changes), changes, problems: [], held: false }
}
