import { tokensField } from '../../../features/auth/status.ts'
import { cacheField } from '../../../features/cache/status.ts'
import { contractShape, contractStatus } from '../../../features/contract/status.ts'
import { learningShape, learningStatus } from '../../../features/contract-learning/status.ts'
import { idempotencyField } from '../../../features/idempotency/status.ts'
import { limitsField } from '../../../features/limits/status.ts'
import { allOperations } from '../../../operations.ts'
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
  type Decoder,
} from '../../lib/text/decode.ts'
import { formatOptionalTime, formatTime, toExpiry } from '../../lib/text/format-time.ts'
import { roundToTenths } from '../../lib/text/units.ts'
import { version } from '../../lib/version.ts'
import { findDriftedFiles } from '../../runtime/reload/config-drift.ts'
import type { ReloadTrigger } from '../../runtime/reload/reload-history.ts'
import type { Field, Shown } from '../../runtime/status/field.ts'
import * as field from '../../runtime/status/field.ts'
import { orderMembers, orderStatus } from '../../runtime/status/order-status.ts'
import type { StatusReport } from '../../runtime/status/report.ts'
import { upstreamsField } from '../../runtime/status/upstreams.ts'
import { workerField } from '../../runtime/status/worker.ts'
import { type AdminContext, getNotReadyReason, type NotReadyReason } from '../admin-context.ts'
import { listCertificates } from '../findings/credentials.ts'
import { type Finding, findingShape, renderFinding } from '../findings/finding.ts'
import { collectFindingInputs, type FindingInputs } from '../findings/finding-inputs.ts'
import { collectFindings } from '../findings/findings.ts'
import { problemShape } from './config-responses.ts'

/** Decodes a certificate that the gateway presents or trusts. */
const certificateShape = asObject({
  key: asText,
  names: asList(asText),
  notAfter: asText,
  /** Below 0: it has expired. */
  daysLeft: asNumber,
})

/** Decodes which gateway of several this is. Null: the file does not say. */
const instanceShape = asObject({
  name: asNullable(asText),
  environment: asNullable(asText),
  colour: asWord<InstanceConfig['colour']>(),
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

const operationShape = asObject({ state: asWord<'serve' | 'refuse'>(), until: asNullable(asText), ...orderMembers })

const configShape = asObject({
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
  /** When an edit whose new endpoints or keys were not reached is tried again. */
  nextTry: asNullable(asText),
  /** The hash of the configuration that a rollback returns to. */
  previous: asNullable(asText),
})

const clientsShape = asObject({ methods: asList(asText), count: asNumber, disabled: asNumber })

/** Shows how clients authenticate. Operations that differ are in /config. */
export const clientsStatus = ({
  auth,
  clients,
}: Pick<Config, 'auth' | 'clients'>): Decoded<typeof clientsShape> | null =>
  auth === null && clients.length === 0
    ? null
    : {
        methods: auth?.methods ?? [],
        count: clients.length,
        disabled: clients.filter(({ disabled }) => disabled).length,
      }

const logShape = asObject({ level: asWord<Config['log']['level']>(), dropped: asNumber })

interface StatusInputs {
  readonly context: AdminContext
  readonly report: StatusReport
  readonly inputs: FindingInputs
  readonly found: readonly Finding[]
}

const showConfig = ({ context: { reloader }, inputs: { file } }: StatusInputs): Decoded<typeof configShape> => {
  const { loadedAt, loadedBy, orderedBy, refusal, nextTryAt } = reloader.state
  return {
    file: reloader.file,
    path: file.name,
    hash: reloader.config.hash,
    loadedAt: formatTime(loadedAt),
    loadedBy,
    orderedBy,
    fileDiffers: file.differing.length > 0,
    differingFiles: file.differing,
    lastRefusal: refusal && { at: formatTime(refusal.at), problems: refusal.problems },
    nextTry: formatOptionalTime(nextTryAt),
    previous: reloader.previous?.config.hash ?? null,
  }
}

/** Shows a section that processes report. */
const section = <Name extends keyof StatusReport, S>(name: Name, { decode, show }: Field<StatusReport[Name], S>) =>
  field.derived(decode, ({ report }: StatusInputs, context) => show(report[name], context))

const own = <S>(decode: Decoder<S>, show: (inputs: StatusInputs) => S) => field.derived(decode, show)

/** The status: what was loaded, what was rejected or is doubtful, and the upstreams. A member a line, in its order. */
const status = field.record({
  version: own(asText, version),
  /** Null: the gateway is of a version that has none. */
  instance: own(asNullable(instanceShape), ({ inputs }) => inputs.config.instance),
  state: own(asWord<'draining' | 'serving' | 'not serving'>(), ({ inputs }) =>
    inputs.draining ? 'draining' : inputs.notServing === null ? 'serving' : 'not serving',
  ),
  ready: own(asBoolean, ({ context }) => getNotReadyReason(context) === null),
  notReady: own(asNullable(asWord<NotReadyReason>()), ({ context }) => getNotReadyReason(context)),
  /** What is wrong, the worst first. */
  findings: own(asList(findingShape), ({ context, inputs, found }) =>
    found.map((each) => renderFinding(each, inputs.at, context.formatCommand)),
  ),
  uptimeSeconds: own(asNumber, () => roundToTenths(process.uptime())),
  node: own(asText, () => process.version),
  pid: own(asNumber, () => process.pid),
  config: own(configShape, showConfig),
  warnings: own(asList(problemShape), ({ context }) => context.reloader.warnings),
  /** The certificates of the listeners, and the authorities that client certificates are checked against. */
  certificates: own(asList(certificateShape), ({ inputs }) =>
    listCertificates(inputs.config).map(({ notAfter, ...shown }) => ({ ...shown, ...toExpiry(notAfter) })),
  ),
  /** None: one process serves. */
  workers: field.derived(asList(workerField.decode), ({ inputs }: StatusInputs, context) =>
    inputs.workers.map((worker) => workerField.show(worker, context)),
  ),
  upstreams: section('upstreams', upstreamsField),
  limits: section('limits', limitsField),
  /** How clients authenticate, and how many there are; null: they do not. */
  clients: own(asNullable(clientsShape), ({ inputs }) => clientsStatus(inputs.config)),
  tokens: section('tokens', tokensField),
  cache: section('cache', cacheField),
  idempotency: section('idempotency', idempotencyField),
  /** Null: no contract is configured. */
  contract: own(asNullable(contractShape), ({ context, report, inputs }) =>
    contractStatus(inputs.config, context.reloader.file, report.drift),
  ),
  /** Null: the contract is not learnt just now. */
  learning: own(asNullable(learningShape), ({ inputs }) => learningStatus(inputs.config, inputs.overrides)),
  /** Operations out of service, or in service by an override. */
  operations: own(asMap(operationShape), ({ inputs: { config, overrides } }) =>
    Object.fromEntries(
      allOperations.flatMap(({ id }) => {
        const override = overrides.operations.get(id)
        const state = override?.state ?? config.operations[id].state
        if (override === null && state === 'serve') return []
        return [[id, { state, until: formatOptionalTime(override?.until), ...orderStatus(override) }] as const]
      }),
    ),
  ),
  /** Earlier snapshots that still finish requests. */
  retiring: own(asNumber, ({ report }) => report.retiring),
  /** Null: there is no audit log, or another process writes it. */
  audit: own(
    asNullable(auditShape),
    ({ inputs: { audit } }) =>
      audit && { ...audit, state: audit.reason === null ? 'written' : 'failing', since: formatTime(audit.since) },
  ),
  log: own(logShape, ({ inputs: { config, droppedLines } }) => ({ level: config.log.level, dropped: droppedLines })),
})

export const statusShape = status.decode

/** What /status says. Times are RFC 3339. */
export type Status = Shown<typeof status>

export const getStatus = async (context: AdminContext): Promise<Status> =>
  (await statusFromReport(context, await context.report())).status

/** Renders the status from a report, with its findings as data. */
export const statusFromReport = async (
  context: AdminContext,
  report: StatusReport,
): Promise<{ readonly status: Status; readonly found: readonly Finding[] }> => {
  const inputs = collectFindingInputs(context, report, await findDriftedFiles(context.reloader))
  const found = collectFindings(inputs)
  return { status: status.show({ context, report, inputs, found }, context), found }
}
