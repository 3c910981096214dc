import { resolve } from 'node:path'
import type { AuditWriterState } from '../../../features/audit/audit-writer.ts'
import { contractShape, contractStatus } from '../../../features/contract/status.ts'
import { learningShape, learningStatus } from '../../../features/contract-learning/status.ts'
import { allOperations, groups, type OperationId } from '../../../operations.ts'
import type { Config, InstanceConfig } from '../../config/config.ts'
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
} from '../../lib/text/decode.ts'
import { roundToTenths } from '../../lib/text/units.ts'
import { version } from '../../lib/version.ts'
import type { Overrides } from '../../runtime/overrides.ts'
import { findDriftedFiles } from '../../runtime/reload/config-drift.ts'
import type { ReloadTrigger } from '../../runtime/reload/reload-history.ts'
import type { Reloader } from '../../runtime/reload/reloader.ts'
import type { StatusReport, WorkerStatus } from '../../runtime/report/status-report.ts'
import { type AdminContext, getNotReadyReason, type NotReadyReason } from '../admin-context.ts'
import { listCertificates } from '../findings/credentials.ts'
import { type Finding, findingShape, renderFinding } from '../findings/finding.ts'
import { collectFindingInputs } from '../findings/finding-inputs.ts'
import { collectFindings } from '../findings/findings.ts'
import { formatOptionalTime, formatTime, toExpiry } from '../format-time.ts'
import { problemShape } from './config-responses.ts'
import { orderMembers, orderStatus } from './order-status.ts'
import {
  cacheShape,
  cacheStatus,
  idempotencyShape,
  idempotencyStatus,
  limitsShape,
  limitsStatus,
  tokensShape,
  tokensStatus,
} from './resource-status.ts'
import { upstreamShape, upstreamStatus } from './upstream-status.ts'

const certificateShape = asObject({
  key: asText,
  names: asList(asText),
  notAfter: asText,
  /** Below 0: it has expired. */
  daysLeft: asNumber,
})

/** Null: the file does not say. */
const instanceShape = asObject({
  name: asNullable(asText),
  environment: asNullable(asText),
  colour: asWord<InstanceConfig['colour']>(),
})

/** Null: not known. */
const workerShape = asObject({
  worker: asNumber,
  pid: asNullable(asNumber),
  state: asWord<WorkerStatus['state']>(),
  startedAt: asNullable(asText),
  restarts: asNumber,
  inFlight: asNullable(asNumber),
  config: asNullable(asText),
})

const auditShape = asObject({
  file: asText,
  chain: asText,
  /** How many lines of the chain are written, and the HMAC of the last. */
  count: asNumber,
  hash: asText,
  reason: asNullable(asText),
  since: asText,
  waitingBytes: asNumber,
  lost: asNumber,
  /** The file system of the file, as measured within the last minute; null: it has none, or does not tell. */
  disk: asNullable(
    asObject({
      freeBytes: asNumber,
      sizeBytes: asNumber,
      /** At the pace of the last hour; null: nothing fills it, or that is not known yet. */
      fullInSeconds: asNullable(asNumber),
      /** Whether it needs an operator before it is full. */
      low: asBoolean,
    }),
  ),
  state: asWord<'written' | 'failing'>(),
})

/** Decodes /status: what was loaded, what was rejected or is doubtful, and the upstreams. Times are RFC 3339. */
export const statusShape = asObject({
  version: asText,
  /** Null: the gateway is of a version that has none. */
  instance: asNullable(instanceShape),
  state: asWord<'draining' | 'serving' | 'not serving'>(),
  ready: asBoolean,
  notReady: asNullable(asWord<NotReadyReason>()),
  /** What is wrong, the worst first. */
  findings: asList(findingShape),
  uptimeSeconds: asNumber,
  node: asText,
  pid: asNumber,
  config: asObject({
    file: asText,
    path: asText,
    hash: asText,
    loadedAt: asText,
    loadedBy: asWord<ReloadTrigger>(),
    /** The operators who had it loaded, by name or else by address; null: none did. */
    orderedBy: asNullable(asText),
    fileDiffers: asBoolean,
    /** Those of the file and of what it refers to that say something else than what runs. */
    differingFiles: asNullable(asList(asText)),
    lastRefusal: asNullable(asObject({ at: asText, problems: asList(problemShape) })),
    nextTry: asNullable(asText),
    previous: asNullable(asText),
  }),
  warnings: asList(problemShape),
  /** The certificates of the listeners, and the authorities that client certificates are checked against. */
  certificates: asList(certificateShape),
  /** None: one process serves. */
  workers: asList(workerShape),
  upstreams: asMap(upstreamShape),
  limits: limitsShape,
  clients: asNullable(asObject({ methods: asList(asText), count: asNumber, disabled: asNumber })),
  tokens: tokensShape,
  cache: asNullable(cacheShape),
  idempotency: asNullable(idempotencyShape),
  contract: asNullable(contractShape),
  learning: asNullable(learningShape),
  /** Operations out of service, or in service by an override. */
  operations: asMap(asObject({ state: asWord<'serve' | 'refuse'>(), until: asNullable(asText), ...orderMembers })),
  retiring: asNumber,
  /** Null: there is no audit log, or another process writes it. */
  audit: asNullable(auditShape),
  log: asObject({ level: asWord<Config['log']['level']>(), dropped: asNumber }),
})

export type Status = Decoded<typeof statusShape>

export const getStatus = async (context: AdminContext): Promise<Status> =>
  (await statusFromReport(context, await context.report())).status

/** Renders the status from a report, with its findings as data. */
export const statusFromReport = async (
  context: AdminContext,
  report: StatusReport,
): Promise<{ readonly status: Status; readonly found: readonly Finding[] }> => {
  const { upstreams, limits, tokens, cache, idempotency, drift, retiring } = report
  const { reloader, overrides, droppedLines } = context
  const drifted = await findDriftedFiles(reloader)
  const notReady = getNotReadyReason(context)
  const { loadedAt, loadedBy, orderedBy, refusal, nextTryAt } = reloader.state
  const inputs = collectFindingInputs(context, report, drifted)
  const found = collectFindings(inputs)
  const status: Status = {
    version: version(),
    instance: reloader.config.instance,
    state: context.draining() ? 'draining' : context.notServing() === null ? 'serving' : 'not serving',
    ready: notReady === null,
    notReady,
    findings: found.map((each) => renderFinding(each, inputs.at, context.formatCommand)),
    uptimeSeconds: roundToTenths(process.uptime()),
    node: process.version,
    pid: process.pid,
    config: {
      file: reloader.file,
      path: resolve(reloader.file),
      hash: reloader.config.hash,
      loadedAt: formatTime(loadedAt),
      loadedBy,
      orderedBy,
      fileDiffers: inputs.file.differing.length > 0,
      differingFiles: inputs.file.differing,
      lastRefusal: refusal === null ? null : { at: formatTime(refusal.at), problems: refusal.problems },
      nextTry: formatOptionalTime(nextTryAt),
      previous: reloader.previous?.config.hash ?? null,
    },
    warnings: reloader.warnings,
    certificates: listCertificates(reloader.config).map(({ notAfter, ...shown }) => ({
      ...shown,
      ...toExpiry(notAfter),
    })),
    workers: context.workers().map(workerStatus),
    upstreams: Object.fromEntries(groups.map((group) => [group, upstreamStatus(upstreams[group], overrides, group)])),
    limits: limitsStatus(limits),
    clients: clientsStatus(reloader.config),
    tokens: tokensStatus(tokens, context.operatorKeys()),
    cache: cache && cacheStatus(cache),
    idempotency: idempotency && idempotencyStatus(idempotency),
    contract: contractStatus(reloader.config, reloader.file, drift),
    learning: learningStatus(reloader.config, overrides),
    operations: Object.fromEntries(allOperations.flatMap(({ id }) => operationEntry(reloader, overrides, id))),
    retiring,
    audit: context.audit.state && auditStatus(context.audit.state),
    log: { level: reloader.config.log.level, dropped: droppedLines() },
  }
  return { status, found }
}

const workerStatus = ({ heardAt: _, ...worker }: WorkerStatus): Decoded<typeof workerShape> => ({
  ...worker,
  startedAt: formatOptionalTime(worker.startedAt),
})

/** Operations that differ are in /config. */
export const clientsStatus = ({ auth, clients }: Pick<Config, 'auth' | 'clients'>): Status['clients'] =>
  auth === null && clients.length === 0
    ? null
    : {
        methods: auth?.methods ?? [],
        count: clients.length,
        disabled: clients.filter(({ disabled }) => disabled).length,
      }

const auditStatus = (state: AuditWriterState): Status['audit'] => ({
  ...state,
  state: state.reason === null ? 'written' : 'failing',
  since: formatTime(state.since),
})

const operationEntry = ({ config }: Reloader, overrides: Overrides, id: OperationId) => {
  const override = overrides.operations.get(id)
  const state = override?.state ?? config.operations[id].state
  if (override === null && state === 'serve') return []
  return [[id, { state, until: formatOptionalTime(override?.until), ...orderStatus(override) }] as const]
}
