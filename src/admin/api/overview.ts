import { epochMs } from '../../clock.ts'
import type { Config, ListenConfig } from '../../config/config.ts'
import { changedGroups } from '../../config/diff/diff-reports.ts'
import { explainPathMismatch } from '../../config/path-mismatch.ts'
import type { FailureKind } from '../../failures/kinds.ts'
import { failureText, reasonText } from '../../failures/reasons.ts'
import type { RecentError } from '../../observe/recent-errors/recent-errors.ts'
import { allOperations, type Group, type Operation, type OperationId, type Side } from '../../operations.ts'
import type { ReloadEntry } from '../../runtime/reload/reload-history.ts'
import type { StatusReport } from '../../runtime/report/status-report.ts'
import {
  asBoolean,
  asList,
  asMap,
  asNullable,
  asNumber,
  asObject,
  asText,
  asWord,
  type Decoded,
} from '../../shared/decode.ts'
import type { AdminContext } from '../admin-context.ts'
import { endpointRateShape } from '../endpoint-rates.ts'
import { isContractFailure } from '../findings/contract-findings.ts'
import { createFinding, lastFailurePhrase } from '../findings/finding.ts'
import { groupOutage } from '../findings/outage.ts'
import { formatTime } from '../format-time.ts'
import { type OperationRates, type RateHistory, rateMembers, stepSeconds } from '../rate-history.ts'
import { clientActivityShape, clientActivityView } from './client-activity.ts'
import { changeShape, problemShape } from './config-responses.ts'
import { driftRowShape, driftRowViews } from './contract-report.ts'
import { orderMembers } from './order-status.ts'
import { comparisonShape, comparisonViews } from './shadow-report.ts'
import { type Status, statusFromReport, statusShape } from './status.ts'

/** Decodes an operation. Rates are per second, over the last ten; latencies are of the last minute. */
const operationShape = asObject({
  id: asWord<OperationId>(),
  state: asWord<'serve' | 'refuse'>(),
  /** Null: nothing is counted, or not for long enough. */
  pace: asNullable(asObject({ inFlight: asNumber, ...rateMembers })),
  /** Null: nothing is counted. */
  history: asNullable(
    asObject({
      stepSeconds: asNumber,
      /** Oldest first; each list has one entry for each step. */
      perSecond: asList(asNumber),
      errorsPerSecond: asList(asNumber),
      p99Ms: asList(asNullable(asNumber)),
    }),
  ),
  group: asWord<Group>(),
  method: asText,
  path: asText,
  /**
   * Whether every request of the last ten seconds that was let in has failed; without requests, whether no endpoint of
   * its group serves.
   */
  failing: asBoolean,
  /** The end of an operator's override; null: the configuration's state holds. */
  until: asNullable(asText),
  ...orderMembers,
})

/** Decodes the result of a reload. */
const reloadShape = asObject({
  at: asText,
  trigger: asText,
  /** The operators who asked for it, by name or else by address; null: none did. */
  by: asNullable(asText),
  result: asWord<'applied' | 'unchanged' | 'refused'>(),
  /** The hash of the configuration that has run since. */
  hash: asText,
  groups: asList(asWord<Group>()),
  changes: asList(changeShape),
  problems: asList(problemShape),
  /** Whether it waits until its new endpoints are reached. */
  held: asBoolean,
})

/** Decodes an order that an operator gave. */
const orderShape = asObject({
  at: asText,
  /** The operator's name, else the address. */
  by: asText,
  /** What was done, as a sentence. */
  text: asText,
})

/** Decodes a recent error. Nothing in it is what the client wrote, but for the request's id. */
export const recentErrorShape = asObject({
  at: asText,
  requestId: asText,
  /** The client's address. */
  client: asText,
  /** The id in `clients`; null: not asked for, or unknown. */
  clientId: asNullable(asText),
  /** Null: no request could be parsed. */
  method: asNullable(asText),
  /** Null: the request was for no operation. */
  operation: asNullable(asWord<OperationId>()),
  /** Null: it was sent nowhere. */
  endpoint: asNullable(asText),
  /** The side that its client is on; null: its group has no candidate in use. */
  side: asNullable(asWord<Side>()),
  /** Whether it went over to the primary, although its client is on the candidate. */
  fellBack: asBoolean,
  status: asNumber,
  kind: asWord<FailureKind>(),
  /** In words. */
  reason: asText,
  traceId: asNullable(asText),
})

/** A request that the gateway answered with an error of its own. */
export type RecentErrorView = Decoded<typeof recentErrorShape>

/** Decodes what an operator on call wants to see at once: what the page and `top` show. Times are RFC 3339. */
export const overviewShape = asObject({
  /** The same as /status. */
  status: statusShape,
  /** In the order of the catalog. */
  operations: asList(operationShape),
  /** By group: the command that prints the file with the candidate as the upstream. Null: an earlier version. */
  promoteCommands: asNullable(asMap(asText)),
  /** Null: the gateway is of a version that does not say. */
  endpointRates: asNullable(asList(endpointRateShape)),
  at: asText,
  /** Newest first. */
  reloads: asList(reloadShape),
  /** The last 20 since the start, newest first. */
  orders: asList(orderShape),
  /** Newest first: at most 100 that matched an operation, and 100 that matched none. */
  refusals: asList(recentErrorShape),
  /** The ten worst ways in which messages broke the contract. */
  drift: asList(driftRowShape),
  /** What clients did over the last fifteen minutes. Null: clients do not authenticate. */
  clients: asNullable(clientActivityShape),
  /** How the answers of candidates compare, each with the ten worst ways in which they differ. */
  comparisons: asList(comparisonShape),
})

/** Decodes the response of /refused: the recent errors alone. */
export const recentErrorsShape = asObject({
  refusals: asList(recentErrorShape),
  /** Errors since the start, from which a client that polls sees how many there were meanwhile. */
  total: asNumber,
})

/** What the page and `top` show. */
export type Overview = Decoded<typeof overviewShape>

/** One operation. */
export type OperationView = Decoded<typeof operationShape>

/** The result of a reload. */
export type ReloadView = Decoded<typeof reloadShape>

/** An order that an operator gave. */
export type OrderView = Decoded<typeof orderShape>

/** The response of /refused. */
export type RecentErrorsResponse = Decoded<typeof recentErrorsShape>

/** Collects the overview. */
export const getOverview = async (context: AdminContext): Promise<Overview> => {
  const report = await context.report()
  const status = await statusFromReport(context, report)
  const { config, history } = context.reloader
  return {
    at: formatTime(epochMs()),
    status,
    operations: allOperations.map((each) => toOperationView(each, status, report, context)),
    promoteCommands: promoteCommands(status, context),
    endpointRates: context.endpointRates.rates(report.upstreams),
    reloads: history.last.map(toReloadView),
    orders: context.orders.last.map((order) => ({ ...order, at: formatTime(order.at) })),
    refusals: toRecentErrorViews(report, config),
    drift: driftRowViews(report.drift).slice(0, maxRowViews),
    clients: clientActivityView(report),
    comparisons: comparisonViews(report, maxRowViews),
  }
}

const promoteCommands = ({ upstreams }: Status, { resolveCommand }: AdminContext): Overview['promoteCommands'] =>
  Object.fromEntries(
    Object.entries(upstreams).flatMap(([group, { candidate }]) => {
      if (candidate === null) return []
      const command = `lender-gateway shift ${group} --promote`
      return [[group, resolveCommand(createFinding('notice', '', '', { command })).command ?? command]]
    }),
  )

// The page shows the worst; /contract and /shadow have all.
const maxRowViews = 10

/** Collects the recent errors alone. */
export const getRecentErrors = async ({ report, reloader }: AdminContext): Promise<RecentErrorsResponse> => {
  const all = await report()
  return { refusals: toRecentErrorViews(all, reloader.config), total: all.recentErrors.total }
}

const toRecentErrorViews = ({ recentErrors }: StatusReport, { listen }: Config): RecentErrorsResponse['refusals'] =>
  recentErrors.last.map((entry) => toRecentErrorView(entry, listen))

const notOrdered = { state: 'serve' as const, until: null, orderedBy: null, orderedAt: null }

const toOperationView = (
  { id, group, method, path }: Operation,
  { operations }: Status,
  report: StatusReport,
  { history, reloader: { config } }: AdminContext,
): OperationView => {
  const { requestMetrics } = report
  const { state, until, orderedBy, orderedAt } = operations[id] ?? notOrdered
  const pace = requestMetrics === null ? null : history.rates(id, requestMetrics)
  return {
    ...{ id, group, method, path, state, until, orderedBy, orderedAt },
    failing:
      pace !== null && pace.perSecond > 0 ? everyRequestFails(pace) : groupOutage(group, { report, config }) !== null,
    pace: pace && requestMetrics && { inFlight: requestMetrics.operations[id].inFlight, ...pace },
    history: requestMetrics && toHistoryView(history, id),
  }
}

/**
 * Checks whether every request failed that was not rejected for its client's fault. The rates are of the same time: an
 * epsilon makes up for their rounding.
 */
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

/** Renders a recent error, as far as it may be shown. */
export const toRecentErrorView = (entry: RecentError, listen: ListenConfig): RecentErrorView => {
  const { requestId, client, clientId, method, operation, endpoint, side, fellBack, status, kind, traceId } = entry
  const members = { requestId, client, clientId, method, operation, endpoint, side, fellBack, status, kind, traceId }
  return { at: formatTime(entry.at), ...members, reason: describeReason(entry, listen) }
}

const describeReason = (entry: RecentError, listen: ListenConfig): string => {
  const { kind, reason, cause, failedAttempt, method, path } = entry
  // Where the contract is broken, in words of the contract alone.
  if (isContractFailure(entry)) return failureText(kind, reason) + (cause === null ? '' : `: ${cause}`)
  if (reason !== null && failedAttempt !== null)
    return `${reasonText(reason)}, because ${lastFailurePhrase(failedAttempt, failedAttempt.endpoint)}`
  if (reason !== null) return reasonText(reason)
  if (path === null) return failureText(kind, null)
  if (kind === 'not-found') {
    const base = { basePath: listen.basePath, baseKey: 'listen.basePath', show: redactText }
    const { differs, meant } = explainPathMismatch(path, base)
    const near = meant === null ? '' : `; probably meant: ${meant.method} ${listen.basePath}${meant.path}`
    return differs.join('; ') + near
  }
  const known = allOperations.find((each) => listen.basePath + each.path === path)
  if (kind === 'method-not-allowed' && known !== undefined) return `${known.path} takes ${known.method}, not ${method}`
  return failureText(kind, null)
}

/** Text of a client may be a secret in the wrong place. */
const redactText = (): string => '…'
