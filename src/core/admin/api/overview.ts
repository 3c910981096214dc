import { allOperations, type Group, type Operation, type OperationId } from '../../../operations.ts'
import { changedGroups } from '../../config/diff/diff-reports.ts'
import { insertBeside } from '../../lib/beside.ts'
import { epochMs } from '../../lib/clock.ts'
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
} from '../../lib/text/decode.ts'
import { formatTime } from '../../lib/text/format-time.ts'
import { orderMembers, orderStatus } from '../../runtime/overrides.ts'
import type { ReloadEntry } from '../../runtime/reload/reload-history.ts'
import { type DerivedField, mapMembers } from '../../runtime/status/field.ts'
import type { StatusReport } from '../../runtime/status/report.ts'
import type { AdminContext } from '../admin-context.ts'
import { adminParts, findClients } from '../admin-parts.ts'
import { endpointRateShape } from '../endpoint-rates.ts'
import type { FindingSubject } from '../findings/finding.ts'
import { groupOutage } from '../findings/outage.ts'
import { type OperationRates, type RateHistory, rateMembers, stepSeconds } from '../rate-history.ts'
import { changeShape, problemShape } from './config-responses.ts'
import { recentErrorShape, toRecentErrorViews } from './recent-errors.ts'
import { type Status, statusFromReport, statusShape } from './status.ts'

/** Rates are per second, over the last 10 s; latencies are of the last minute. */
const operationShape = asObject({
  id: asWord<OperationId>(),
  state: asWord<'serve' | 'refuse'>(),
  /** Null: metrics are off, or counted for too short a time. */
  pace: asNullable(asObject({ inFlight: asNumber, ...rateMembers })),
  /** Null: metrics are off. */
  history: asNullable(
    asObject({
      stepSeconds: asNumber,
      /** Oldest first; each list has one entry a step. */
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
  /** The end of an operator's override; null: the configuration's state holds. */
  until: asNullable(asText),
  ...orderMembers,
})

const reloadShape = asObject({
  at: asText,
  trigger: asText,
  /** Names, or else addresses, of operators. */
  by: asNullable(asText),
  result: asWord<'applied' | 'unchanged' | 'refused'>(),
  /** The hash of the configuration that has run since. */
  hash: asText,
  groups: asList(asWord<Group>()),
  changes: asList(changeShape),
  problems: asList(problemShape),
  held: asBoolean,
})

const orderShape = asObject({
  at: asText,
  /** The operator's name, else the address. */
  by: asText,
  text: asText,
})

const ownShapes = {
  status: statusShape,
  operations: asList(operationShape),
  /** Requests per second that were rejected before they matched an operation. Null: unknown, or an earlier version. */
  unmatchedPerSecond: asNullable(asNumber),
  /** Null: the gateway's version has no such member. */
  endpointRates: asNullable(asList(endpointRateShape)),
  at: asText,
  /** Newest first. */
  reloads: asList(reloadShape),
  /** The last 20, newest first. */
  orders: asList(orderShape),
  /** Newest first: at most 100 that matched an operation, and 100 that matched none. */
  refusals: asList(recentErrorShape),
}

/** Times are RFC 3339. */
export interface Overview extends Decoded<ReturnType<typeof asObject<typeof ownShapes>>> {}

export interface OverviewInputs {
  readonly context: AdminContext
  readonly report: StatusReport
  readonly status: Status
}

const ofFeatures = adminParts.flatMap(({ overview = [] }) => overview)

const withFeatures = <T>(
  own: Readonly<Record<'unmatchedPerSecond' | 'refusals', T>> & Readonly<Record<string, T>>,
  value: (field: DerivedField<unknown>) => T,
): Readonly<Record<string, T>> =>
  Object.fromEntries(
    insertBeside(
      mapMembers(own, (each, key) => [key, each] as const),
      ofFeatures.map((each) => ({ ...each, value: [each.key, value(each.field)] as const })),
    ),
  )

const shapes = withFeatures<Decoder<unknown>>(ownShapes, ({ decode }) => decode)

export const overviewMembers: ReadonlySet<string> = new Set(Object.keys(shapes))

export const overviewShape = asObject(shapes) as Decoder<unknown> as Decoder<Overview>

export type OperationView = Decoded<typeof operationShape>

export type ReloadView = Decoded<typeof reloadShape>

export type OrderView = Decoded<typeof orderShape>

/** The page decides by the findings' data, not by their sentences. */
export interface PageView extends Overview {
  readonly found: readonly FindingSubject[]
}

export const getPageView = async (context: AdminContext): Promise<PageView> => {
  const report = await context.report()
  const { status, found } = await statusFromReport(context, report)
  const { config, history } = context.reloader
  const own = {
    at: formatTime(epochMs()),
    status,
    found,
    operations: allOperations.map((each) => toOperationView(each, status, report, context)),
    unmatchedPerSecond:
      report.requestMetrics && (context.history.rates('none', report.requestMetrics)?.perSecond ?? null),
    endpointRates: context.endpointRates.rates(report.upstreams),
    reloads: history.last.map(toReloadView),
    orders: context.orders.last.map((order) => ({ ...order, at: formatTime(order.at) })),
    refusals: toRecentErrorViews(report, config),
  }
  return withFeatures<unknown>(own, ({ derive }) => derive({ context, report, status }, context)) as unknown as PageView
}

const notOrdered = { state: 'serve' as const, until: null, ...orderStatus(null) }

const toOperationView = (
  { id, group, method, path }: Operation,
  { operations }: Status,
  report: StatusReport,
  { history, reloader, overrides }: AdminContext,
): OperationView => {
  const {
    config,
    state: { loadedAt },
  } = reloader
  const { requestMetrics } = report
  const { state, until, orderedBy, orderedAt, orderReason } = operations[id] ?? notOrdered
  const pace = requestMetrics === null ? null : history.rates(id, requestMetrics)
  return {
    ...{ id, group, method, path, state, until, orderedBy, orderedAt, orderReason },
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
const everyRequestFails = ({ perSecond, errorsPerSecond, refusedPerSecond }: OperationRates): boolean =>
  errorsPerSecond > 0 && errorsPerSecond + refusedPerSecond > perSecond - 1e-6

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
  if (outcome.result === 'refused') {
    const { hash, problems, held } = outcome
    return { ...common, hash, groups: [], changes: [], problems, held: held !== null }
  }
  const { to: hash, changes } = outcome
  return { ...common, hash, groups: changedGroups(changes), changes, problems: [], held: false }
}

/** Formats the gateway's identity: `production · gateway-eu-1`; null: the file has none. */
export const formatInstance = (
  instance: Pick<NonNullable<Status['instance']>, 'name' | 'environment'> | null,
): string | null => {
  const words = [instance?.environment, instance?.name].filter((each) => each != null)
  return words.length === 0 ? null : words.join(' · ')
}
