import { resolve } from 'node:path'
import { catalog, groups } from '../catalog.ts'
import type { Config } from '../config/config.ts'
import type { WriterState } from '../observe/audit/writer.ts'
import { flag, list, map, nullable, number, type Shaped, shape, text, word } from '../shared/shape.ts'
import type { Overrides } from '../snapshot/overrides.ts'
import type { Trigger } from '../snapshot/reload-history.ts'
import type { Reloader } from '../snapshot/reloader.ts'
import type { Report, WorkerState } from '../snapshot/report.ts'
import { unread } from '../snapshot/unread.ts'
import { version } from '../version.ts'
import { problemShape } from './configuration.ts'
import { type Desk, type Unready, unready } from './desk.ts'
import { findingShape } from './findings/finding.ts'
import { findings } from './findings/findings.ts'
import { readingOf } from './findings/reading.ts'
import { certificatesOf } from './findings/trust.ts'
import { cacheShape, cacheStatus, limitsShape, limitsStatus, tokensShape, tokensStatus } from './resource-status.ts'
import { endOf, tenths, time } from './time.ts'
import { upstreamShape, upstreamStatus } from './upstream-status.ts'

/** Reads a certificate that the gateway shows. */
const certificateShape = shape({
  key: text,
  names: list(text),
  notAfter: text,
  /** Below 0: it has expired. */
  daysLeft: number,
})

/** Reads one of several processes that serve. What is not known of it is null. */
const workerShape = shape({
  worker: number,
  pid: nullable(number),
  state: word<WorkerState['state']>(),
  startedAt: nullable(text),
  restarts: number,
  inFlight: nullable(number),
  /** The hash of what it runs. */
  config: nullable(text),
})

const auditShape = shape({
  file: text,
  chain: text,
  /** How many lines the chain has that are written, and the HMAC of the last. */
  count: number,
  hash: text,
  /** Why nothing can be written; null: it can. */
  reason: nullable(text),
  since: text,
  waitingBytes: number,
  lost: number,
  state: word<'written' | 'failing'>(),
})

/** Reads what /status says: what was loaded, what was refused or is doubtful, what stands behind each group. Times are RFC 3339. */
export const statusShape = shape({
  version: text,
  state: word<'draining' | 'serving' | 'not serving'>(),
  ready: flag,
  notReady: nullable(word<Unready>()),
  /** What is wrong, the worst first. */
  findings: list(findingShape),
  uptimeSeconds: number,
  node: text,
  pid: number,
  config: shape({
    file: text,
    path: text,
    hash: text,
    loadedAt: text,
    loadedBy: word<Trigger>(),
    fileDiffers: flag,
    lastRefusal: nullable(shape({ at: text, problems: list(problemShape) })),
    /** When an edit that brings what was not reached is tried again. */
    nextTry: nullable(text),
    /** The hash of what a rollback brings back. */
    previous: nullable(text),
  }),
  warnings: list(problemShape),
  /** What the gateway shows, and the authorities that it asks clients by. */
  certificates: list(certificateShape),
  /** None: one process does all. */
  workers: list(workerShape),
  upstreams: map(upstreamShape),
  limits: limitsShape,
  /** How clients prove who they are, and how many there are; null: none is asked. */
  clients: nullable(shape({ methods: list(text), count: number, disabled: number })),
  tokens: tokensShape,
  /** Null: no operation is cached. */
  cache: nullable(cacheShape),
  /** Those that do not serve, or only for now. */
  operations: map(shape({ state: word<'serve' | 'refuse'>(), until: nullable(text) })),
  /** How many earlier snapshots still finish requests. */
  retiring: number,
  /** Null: there is no audit log, or another process writes it. */
  audit: nullable(auditShape),
  log: shape({ level: word<Config['log']['level']>(), dropped: number }),
})

/** What /status says. */
export type Status = Shaped<typeof statusShape>

/** Makes it of what is so now. */
export const status = async (desk: Desk): Promise<Status> => statusOf(desk, await desk.report())

/** Makes it of a report that is there already. */
export const statusOf = async (desk: Desk, report: Report): Promise<Status> => {
  const { upstreams, limits, tokens, cache, retiring } = report
  const { reloader, overrides, droppedLines } = desk
  const isUnread = await unread(reloader)
  const notReady = unready(desk)
  const { loadedAt, loadedBy, fileDiffers, refusal, nextTryAt } = reloader.state
  return {
    version: version(),
    state: desk.draining() ? 'draining' : desk.notServing() === null ? 'serving' : 'not serving',
    ready: notReady === null,
    notReady,
    findings: findings(readingOf(desk, report, isUnread)).map(desk.runnable),
    uptimeSeconds: tenths(process.uptime()),
    node: process.version,
    pid: process.pid,
    config: {
      file: reloader.file,
      path: resolve(reloader.file),
      hash: reloader.config.hash,
      loadedAt: time(loadedAt),
      loadedBy,
      fileDiffers: fileDiffers || isUnread,
      lastRefusal: refusal === null ? null : { at: time(refusal.at), problems: refusal.problems },
      nextTry: nextTryAt === null ? null : time(nextTryAt),
      previous: reloader.previous?.config.hash ?? null,
    },
    warnings: reloader.warnings,
    certificates: certificatesOf(reloader.config).map(({ notAfter, ...shown }) => ({ ...shown, ...endOf(notAfter) })),
    workers: desk.workers().map(workerStatus),
    upstreams: Object.fromEntries(
      groups.map((group) => [group, upstreamStatus(upstreams[group], overrides.endpoints, group)]),
    ),
    limits: limitsStatus(limits),
    clients: clientsStatus(reloader.config),
    tokens: tokensStatus(tokens),
    cache: cache && cacheStatus(cache),
    operations: Object.fromEntries(catalog.flatMap(({ id }) => operation(reloader, overrides, id))),
    retiring,
    audit: desk.audit.state && auditStatus(desk.audit.state),
    log: { level: reloader.config.log.level, dropped: droppedLines() },
  }
}

const workerStatus = (worker: WorkerState): Shaped<typeof workerShape> => ({
  ...worker,
  startedAt: worker.startedAt === null ? null : time(worker.startedAt),
})

/** Tells how clients prove who they are. Operations that differ are in /config. */
export const clientsStatus = ({ auth, clients }: Pick<Config, 'auth' | 'clients'>): Status['clients'] =>
  auth === null && clients.length === 0
    ? null
    : {
        methods: auth?.methods ?? [],
        count: clients.length,
        disabled: clients.filter(({ disabled }) => disabled).length,
      }

const auditStatus = (state: WriterState): Status['audit'] => ({
  ...state,
  state: state.reason === null ? 'written' : 'failing',
  since: time(state.since),
})

const operation = ({ config }: Reloader, overrides: Overrides, id: (typeof catalog)[number]['id']) => {
  const override = overrides.operations.of(id)
  const state = override?.state ?? config.operations[id].state
  if (override === null && state === 'serve') return []
  return [[id, { state, until: override === null ? null : time(override.until) }] as const]
}
