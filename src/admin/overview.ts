import { catalog, type Group, type Operation, type OperationId } from '../catalog.ts'
import { wallClock } from '../clock.ts'
import type { Config, ListenConfig } from '../config/config.ts'
import { changedGroups } from '../config/diff.ts'
import { differenceOf } from '../config/differs.ts'
import type { Kind } from '../failures/kinds.ts'
import { failureText, reasonText } from '../failures/reasons.ts'
import type { Refusal } from '../observe/refusals/refusals.ts'
import { flag, list, nullable, number, type Shaped, shape, text, word } from '../shared/shape.ts'
import type { Reloaded } from '../snapshot/reload-history.ts'
import type { Report } from '../snapshot/report.ts'
import { changeShape, problemShape } from './configuration.ts'
import type { Desk } from './desk.ts'
import { lastOf } from './findings/finding.ts'
import { groupOutage } from './findings/outage.ts'
import { type History, type Pace, paceMembers, stepSeconds } from './history.ts'
import { type Status, statusOf, statusShape } from './status.ts'
import { time } from './time.ts'

/** Reads one of the nine. Rates are of a second, over the last ten; latencies are of the last minute. */
const operationShape = shape({
  id: word<OperationId>(),
  state: word<'serve' | 'refuse'>(),
  /** Null: nothing is counted, or not for long enough. */
  pace: nullable(shape({ inFlight: number, ...paceMembers })),
  /** Null: nothing is counted. */
  history: nullable(
    shape({
      stepSeconds: number,
      /** Oldest first; each list has one for each step. */
      perSecond: list(number),
      errorsPerSecond: list(number),
      p99Ms: list(nullable(number)),
    }),
  ),
  group: word<Group>(),
  method: text,
  path: text,
  /** Whether every request of the last ten seconds that was let in has failed; without any, whether no endpoint of its group serves. */
  failing: flag,
  /** When an operator's word on that ends; null: the file's holds. */
  until: nullable(text),
})

/** Reads what came of a reload. */
const reloadShape = shape({
  at: text,
  trigger: text,
  result: word<'applied' | 'unchanged' | 'refused'>(),
  /** Of the configuration that runs since. */
  hash: text,
  groups: list(word<Group>()),
  changes: list(changeShape),
  problems: list(problemShape),
  /** Whether it waits for what it brings to be reached. */
  held: flag,
})

/** Reads of a request that the gateway answered with an error of its own. Nothing in it is what the client wrote, but for the id. */
export const refusalShape = shape({
  at: text,
  requestId: text,
  /** The client's address. */
  client: text,
  /** As `clients` names it; null: it was not asked, or is not known. */
  clientId: nullable(text),
  /** Null: no request could be parsed. */
  method: nullable(text),
  /** Null: it was none of the nine. */
  operation: nullable(word<OperationId>()),
  /** Null: it was sent nowhere. */
  endpoint: nullable(text),
  status: number,
  kind: word<Kind>(),
  /** In words. */
  reason: text,
  traceId: nullable(text),
})

/** A request that the gateway answered with an error of its own. */
export type RefusalView = Shaped<typeof refusalShape>

/** Reads all that an operator on call wants to see at once: what the page shows, and `top`. Times are RFC 3339. */
export const overviewShape = shape({
  /** What /status says. */
  status: statusShape,
  /** The nine, in the order of the catalog. */
  operations: list(operationShape),
  at: text,
  /** Newest first. */
  reloads: list(reloadShape),
  /** Newest first: at most 100 of the nine, and 100 that were none of them. */
  refusals: list(refusalShape),
})

/** Reads what /refused says: the last refusals alone. */
export const refusedShape = shape({
  refusals: list(refusalShape),
  /** Those since the start: who asks again sees how many there were meanwhile. */
  total: number,
})

/** What the page shows, and `top`. */
export type Overview = Shaped<typeof overviewShape>

/** One of the nine. */
export type OperationView = Shaped<typeof operationShape>

/** What came of a reload. */
export type ReloadView = Shaped<typeof reloadShape>

/** What /refused says. */
export type Refused = Shaped<typeof refusedShape>

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
export const refused = async ({ report, reloader }: Desk): Promise<Refused> => {
  const all = await report()
  return { refusals: refusalViews(all, reloader.config), total: all.refusals.total }
}

const refusalViews = ({ refusals }: Report, { listen }: Config): Refused['refusals'] =>
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

/** Tells of a refusal, as far as it may be shown. */
export const refusalView = (refusal: Refusal, listen: ListenConfig): RefusalView => {
  const { requestId, client, clientId, method, operation, endpoint, status, kind, traceId } = refusal
  const told = { requestId, client, clientId, method, operation, endpoint, status, kind, traceId }
  return { at: time(refusal.at), ...told, reason: wordsOf(refusal, listen) }
}

const wordsOf = ({ kind, reason, because, method, path }: Refusal, listen: ListenConfig): string => {
  if (reason !== null && because !== null) return `${reasonText(reason)}, because ${lastOf(because, because.endpoint)}`
  if (reason !== null) return reasonText(reason)
  if (path === null) return failureText(kind, null)
  if (kind === 'not-found') {
    const base = { basePath: listen.basePath, baseKey: 'listen.basePath', show: hidden }
    const { differs, meant } = differenceOf(path, base)
    const near = meant === null ? '' : `; probably meant: ${meant.method} ${listen.basePath}${meant.path}`
    return differs.join('; ') + near
  }
  const known = catalog.find((each) => listen.basePath + each.path === path)
  if (kind === 'method-not-allowed' && known !== undefined) return `${known.path} takes ${known.method}, not ${method}`
  return failureText(kind, null)
}

/** What a client wrote may be a secret in the wrong place. */
const hidden = (): string => '…'
