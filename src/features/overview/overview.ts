import type { AdminContext } from '../../core/admin/admin-context.ts'
import type { Overview, OverviewInputs } from '../../core/admin/admin-part.ts'
import { adminParts, findClients } from '../../core/admin/admin-parts.ts'
import { changeShape, problemShape } from '../../core/admin/api/config-responses.ts'
import { recentErrorShape, toRecentErrorViews } from '../../core/admin/api/recent-errors.ts'
import { statusFromReport, statusShape } from '../../core/admin/api/status.ts'
import type { FindingSubject } from '../../core/admin/findings/finding.ts'
import { groupOutage } from '../../core/admin/findings/outage-findings.ts'
import { changedGroups } from '../../core/config/diff/diff-reports.ts'
import { epochMs } from '../../core/lib/clock.ts'
import {
  asBoolean,
  asList,
  asNullable,
  asNumber,
  asObject,
  asText,
  asWord,
  type Decoded,
  type Decoder,
} from '../../core/lib/text/decode.ts'
import { formatTime } from '../../core/lib/text/format-time.ts'
import { overrideMembers, overrideStatus } from '../../core/runtime/overrides.ts'
import type { ReloadEntry } from '../../core/runtime/reload/reload-history.ts'
import { derived, record, recordBeside, type Shown } from '../../core/runtime/status/field.ts'
import { allOperations, type Group, type Operation, type OperationId } from '../../operations.ts'
import { endpointRateShape, type OperationRates, type RateHistory, rateMembers, stepSeconds } from './rate-history.ts'

/** Rates are per second, over the last 10 s; latencies are of the last minute. */
const operationShape = asObject({
  id: asWord<OperationId>(),
  state: asWord<'serve' | 'reject'>(),
  /** Null: metrics are off, or counted for too short a time. */
  pace: asNullable(asObject({ inFlight: asNumber, ...rateMembers })),
  /** Null: metrics are off. */
  history: asNullable(
    asObject({
      stepSeconds: asNumber,
      perSecond: asList(asNumber),
      errorsPerSecond: asList(asNumber),
      p99Ms: asList(asNullable(asNumber)),
    }),
  ),
  group: asWord<Group>(),
  method: asText,
  path: asText,
  /**
   * Whether every admitted request of the last 10 s failed; without requests, whether the group has an outage and
   * clients on its primary.
   */
  failing: asBoolean,
  /** Null: the configuration's state holds. */
  until: asNullable(asText),
  ...overrideMembers,
})

const reloadShape = asObject({
  at: asText,
  trigger: asText,
  /** Names, or else addresses, of operators. */
  by: asNullable(asText),
  result: asWord<'applied' | 'unchanged' | 'rejected'>(),
  /** The hash of the configuration that has run since this reload. */
  hash: asText,
  groups: asList(asWord<Group>()),
  changes: asList(changeShape),
  problems: asList(problemShape),
  held: asBoolean,
})

const commandShape = asObject({
  at: asText,
  by: asText,
  text: asText,
})

const own = <S>(decode: Decoder<S>, derive: (inputs: OverviewInputs) => S) => derived(decode, derive)

/** Members are decoded in this order, so an error names the first invalid one. */
const ownMembers = {
  status: own(statusShape, ({ status }) => status),
  operations: own(asList(operationShape), (inputs) => allOperations.map((each) => toOperationView(each, inputs))),
  /** Requests that matched no operation. Null: unknown, or an earlier version. */
  unmatchedPerSecond: own(
    asNullable(asNumber),
    ({ context: { history }, report: { requestMetrics } }) =>
      requestMetrics && (history.rates('none', requestMetrics)?.perSecond ?? null),
  ),
  /** Null: an earlier version. */
  endpointRates: own(asNullable(asList(endpointRateShape)), ({ context: { endpointRates }, report }) =>
    endpointRates.rates(report.upstreams),
  ),
  at: own(asText, () => formatTime(epochMs())),
  reloads: own(asList(reloadShape), ({ context: { reloader } }) => reloader.history.last.map(toReloadView)),
  /** The last 20, newest first. */
  commands: own(asList(commandShape), ({ context: { commandHistory } }) =>
    commandHistory.last.map((command) => ({ ...command, at: formatTime(command.at) })),
  ),
  /** At most 100 that matched an operation, and 100 that matched none, the newest first. */
  rejections: own(asList(recentErrorShape), ({ context: { reloader }, report }) =>
    toRecentErrorViews(report, reloader.config),
  ),
}

const ownOverview = record(ownMembers)

type OwnOverview = Shown<typeof ownOverview>

declare module '../../core/admin/admin-part.ts' {
  interface Overview extends OwnOverview {}
}

const ofFeatures = adminParts.flatMap(({ overview = [] }) => overview)
const overview = recordBeside<OverviewInputs, Overview>(ownMembers, ofFeatures)

export const overviewShape = overview.decode

export const overviewMembers: ReadonlySet<string> = new Set([
  ...Object.keys(ownMembers),
  ...ofFeatures.map(({ key }) => key),
])

export type OperationView = Decoded<typeof operationShape>

export type ReloadView = Decoded<typeof reloadShape>

export type CommandView = Decoded<typeof commandShape>

/** The page decides by the findings' data, not by their sentences. */
export interface PageView extends Overview {
  readonly found: readonly FindingSubject[]
}

export const getPageView = async (context: AdminContext): Promise<PageView> => {
  const report = await context.report()
  const { status, found } = await statusFromReport(context, report)
  const shown = overview.show({ context, report, status }, context)
  return Object.assign({ at: shown.at }, shown, { found }) // `at` first
}

const notOverridden = { state: 'serve' as const, until: null, ...overrideStatus(null) }

const toOperationView = (
  { id, group, method, path }: Operation,
  { context: { history, reloader, overrides }, report, status: { operations } }: OverviewInputs,
): OperationView => {
  const { config, state: running } = reloader
  const { loadedAt } = running
  const { requestMetrics } = report
  const { state, until, setBy, setAt, setReason } = operations[id] ?? notOverridden
  const pace = requestMetrics === null ? null : history.rates(id, requestMetrics)
  return {
    ...{ id, group, method, path, state, until, setBy, setAt, setReason },
    failing:
      pace !== null && pace.perSecond > 0
        ? everyRequestFails(pace)
        : groupOutage(group, { report, config, loadedAt }) !== null &&
          findClients(group, config, overrides).primary !== 'none',
    pace: pace && requestMetrics && { inFlight: requestMetrics.operations[id].inFlight, ...pace },
    history: requestMetrics && toHistoryView(history, id),
  }
}

/** Requests rejected for a client's fault do not count. 1e-6 absorbs the rates' rounding. */
const everyRequestFails = ({ perSecond, errorsPerSecond, rejectedPerSecond }: OperationRates): boolean =>
  errorsPerSecond > 0 && errorsPerSecond + rejectedPerSecond > perSecond - 1e-6

const toHistoryView = (history: RateHistory, id: OperationId): OperationView['history'] => {
  const steps = history.steps(id)
  return {
    stepSeconds,
    perSecond: steps.map(({ perSecond }) => perSecond),
    errorsPerSecond: steps.map(({ errorsPerSecond }) => errorsPerSecond),
    p99Ms: steps.map(({ p99Ms }) => p99Ms),
  }
}

const toReloadView = ({ at, trigger, by, outcome }: ReloadEntry): ReloadView => {
  const { result } = outcome
  const common = { at: formatTime(at), trigger, by, result }
  if (outcome.result === 'rejected') {
    const { hash, problems, held } = outcome
    return { ...common, hash, groups: [], changes: [], problems, held: held !== null }
  }
  const { to: hash, changes } = outcome
  return { ...common, hash, groups: changedGroups(changes), changes, problems: [], held: false }
}
