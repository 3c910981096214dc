import { allOperations } from '../../../operations.ts'
import type { Config, InstanceConfig } from '../../config/config.ts'
import { insertBeside } from '../../lib/beside.ts'
import { toExpiry } from '../../lib/certificate-expiry.ts'
import { version } from '../../lib/program.ts'
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
import { formatOptionalTime, formatTime } from '../../lib/text/format-time.ts'
import { roundToTenths } from '../../lib/text/units.ts'
import { overrideMembers, overrideStatus } from '../../runtime/overrides.ts'
import { findDriftedFiles } from '../../runtime/reload/config-drift.ts'
import type { ReloadTrigger } from '../../runtime/reload/reload-history.ts'
import * as field from '../../runtime/status/field.ts'
import type { Status, StatusReport } from '../../runtime/status/status-part.ts'
import { upstreamsField } from '../../runtime/status/upstreams.ts'
import type { AdminContext } from '../admin-context.ts'
import { adminParts } from '../admin-parts.ts'
import { type Finding, findingShape, flattenFound, renderFinding, worstFirst } from '../findings/finding.ts'
import type { FindingInputs, FindingSource } from '../findings/finding-inputs.ts'
import {
  certificateFindings,
  configFindings,
  eventLoopFindings,
  heapFindings,
  listCertificates,
  logFindings,
  servingFindings,
  upstreamCertificateFindings,
} from '../findings/gateway-findings.ts'
import {
  clientFindings,
  drainedFindings,
  gatewayErrorFindings,
  rejectedFindings,
} from '../findings/operation-findings.ts'
import { upstreamFindings } from '../findings/upstream-findings.ts'
import { collectFindingInputs } from '../metrics/metric-inputs.ts'
import { problemShape } from './config-responses.ts'
import { getNotReadyReason, type NotReadyReason } from './readiness.ts'

const certificateShape = asObject({
  key: asText,
  names: asList(asText),
  notAfter: asText,
  /** Below 0: it has expired. */
  daysLeft: asNumber,
})

const instanceShape = asObject({
  name: asNullable(asText),
  environment: asNullable(asText),
  color: asWord<InstanceConfig['color']>(),
})

const operationShape = asObject({ state: asWord<'serve' | 'reject'>(), until: asNullable(asText), ...overrideMembers })

const configShape = asObject({
  file: asText,
  path: asText,
  hash: asText,
  loadedAt: asText,
  loadedBy: asWord<ReloadTrigger>(),
  /** The operator's name or address; several share one reload. */
  requestedBy: asNullable(asText),
  fileDiffers: asBoolean,
  /** The file, and files that it refers to. */
  differingFiles: asNullable(asList(asText)),
  lastRejection: asNullable(asObject({ at: asText, problems: asList(problemShape) })),
  nextTry: asNullable(asText),
  previous: asNullable(asText),
})

const logShape = asObject({ level: asWord<Config['log']['level']>(), dropped: asNumber })

export interface StatusInputs {
  readonly context: AdminContext
  readonly report: StatusReport
  readonly inputs: FindingInputs
  readonly found: readonly Finding[]
}

const showConfig = ({ context: { reloader }, inputs: { file } }: StatusInputs): Decoded<typeof configShape> => {
  const { loadedAt, loadedBy, requestedBy, rejection, nextTryAt } = reloader.state
  return {
    file: reloader.file,
    path: file.name,
    hash: reloader.config.hash,
    loadedAt: formatTime(loadedAt),
    loadedBy,
    requestedBy,
    fileDiffers: file.differing.length > 0,
    differingFiles: file.differing,
    lastRejection: rejection && { at: formatTime(rejection.at), problems: rejection.problems },
    nextTry: formatOptionalTime(nextTryAt),
    previous: reloader.previous?.config.hash ?? null,
  }
}

const own = <S>(decode: Decoder<S>, show: (inputs: StatusInputs) => S) => field.derived(decode, show)

/** One member a line, in the order of the output. */
const ownSections = {
  version: own(asText, version),
  /** Null: an earlier version. */
  instance: own(asNullable(instanceShape), ({ inputs }) => inputs.config.instance),
  state: own(asWord<'draining' | 'serving' | 'not serving'>(), ({ inputs }) =>
    inputs.draining ? 'draining' : inputs.notServing === null ? 'serving' : 'not serving',
  ),
  ready: own(asBoolean, ({ context }) => getNotReadyReason(context) === null),
  notReady: own(asNullable(asWord<NotReadyReason>()), ({ context }) => getNotReadyReason(context)),
  findings: own(asList(findingShape), ({ context, inputs, found }) =>
    found.map((each) => renderFinding(each, inputs.at, context.formatCommand)),
  ),
  uptimeSeconds: own(asNumber, () => roundToTenths(process.uptime())),
  node: own(asText, () => process.version),
  pid: own(asNumber, () => process.pid),
  config: own(configShape, showConfig),
  warnings: own(asList(problemShape), ({ context }) => context.reloader.running.warnings),
  certificates: own(asList(certificateShape), ({ inputs }) =>
    listCertificates(inputs.config).map(({ notAfter, ...shown }) => ({ ...shown, ...toExpiry(notAfter) })),
  ),
  upstreams: field.fromReport('upstreams', upstreamsField),
  /** Operations out of service, or with an override. */
  operations: own(asMap(operationShape), ({ inputs: { config, overrides } }) =>
    Object.fromEntries(
      allOperations.flatMap(({ id }) => {
        const override = overrides.operations.get(id)
        const state = override?.state ?? config.operations[id].state
        if (override === null && state === 'serve') return []
        return [[id, { state, until: formatOptionalTime(override?.until), ...overrideStatus(override) }] as const]
      }),
    ),
  ),
  /** Earlier snapshots with requests under way. */
  retiring: own(asNumber, ({ report }) => report.retiring),
  log: own(logShape, ({ inputs: { config, droppedLines } }) => ({ level: config.log.level, dropped: droppedLines })),
}

const ownStatus = field.record(ownSections)

declare module '../../runtime/status/status-part.ts' {
  interface Status extends field.Shown<typeof ownStatus> {}
}

const status = field.recordBeside<StatusInputs, Status>(
  ownSections,
  adminParts.flatMap(({ status = [] }) => status),
)

export const statusShape = status.decode

export const getStatus = async (context: AdminContext): Promise<Status> =>
  (await statusFromReport(context, await context.report())).status

export const statusFromReport = async (
  context: AdminContext,
  report: StatusReport,
): Promise<{ readonly status: Status; readonly found: readonly Finding[] }> => {
  const inputs = collectFindingInputs(context, report, await findDriftedFiles(context.reloader))
  const found = collectFindings(inputs)
  return { status: status.show({ context, report, inputs, found }, context), found }
}

/** `production · gateway-eu-1`; null: the file names neither. */
export const formatInstance = (
  instance: Pick<NonNullable<Status['instance']>, 'name' | 'environment'> | null,
): string | null => {
  const words = [instance?.environment, instance?.name].filter((each) => each != null)
  return words.length === 0 ? null : words.join(' · ')
}

const findingSources: readonly FindingSource[] = insertBeside(
  {
    serving: servingFindings,
    eventLoop: eventLoopFindings,
    heap: heapFindings,
    log: logFindings,
    upstreams: upstreamFindings,
    rejected: rejectedFindings,
    drained: drainedFindings,
    gatewayErrors: gatewayErrorFindings,
    certificates: certificateFindings,
    upstreamCertificates: upstreamCertificateFindings,
    configuration: configFindings,
    clients: clientFindings,
  },
  adminParts.flatMap(({ findings = [] }) => findings),
)

// One screen.
const maxFindings = 50

/** Sorted by severity, without findings that another finding explains. */
export const collectFindings = (inputs: FindingInputs): readonly Finding[] => {
  const found = findingSources.flatMap((find) => flattenFound(find(inputs)))
  const explained = new Set(found.map(({ explains }) => explains))
  return worstFirst(found.filter(({ code }) => !explained.has(code))).slice(0, maxFindings)
}
