import type { DestinationStream } from 'pino'
import { type ClientIdentity, type ExchangeTrace, type RecordedOutcome, sideJson } from '../exchange/exchange.ts'
import { attemptLogFields, describeCause, type FailedAttempt } from '../exchange/failures/errors.ts'
import { epochMs } from '../lib/clock.ts'
import { escapeQuotedControls } from '../lib/text/escape-controls.ts'
import { roundToTenths } from '../lib/text/units.ts'
import type { ExchangeObserver, ExchangeRecord } from './exchange-record.ts'
import { getLogDestination, type Log } from './log.ts'

export const accessLog = (log: Log): ExchangeObserver => {
  const destination = getLogDestination(log)
  return { name: 'access-log', record: (record) => logAccess(log, record, destination) }
}

/** An allow-list: never a field value, a query value or a body. */
export const logAccess = (log: Log, record: ExchangeRecord, destination = getLogDestination(log)): void => {
  const { failure } = record
  if (failure === null) return logSuccess(log, record, destination)
  const { totalMs, exchange } = record
  const upstreamMs = exchange?.attempts.upstreamMs ?? null
  const { kind, fault } = failure
  const fields = {
    requestId: record.requestId,
    client: record.client,
    clientId: exchange?.identity?.client,
    auth: exchange?.identity?.method,
    operation: exchange?.operation.id ?? null,
    status: record.status,
    endpoint: exchange?.attempts.last?.endpoint ?? null,
    side: exchange?.side ?? undefined,
    fellBack: exchange?.attempts.fellBack === true ? true : undefined,
    attempts: exchange?.attempts.count ?? 0,
    failedAttempts: earlierFailures(record)?.map(attemptLogFields),
    ...outcomeMembers(exchange?.outcome ?? null),
    gatewayMs: roundToTenths(totalMs - (upstreamMs ?? 0)),
    upstreamMs: upstreamMs === null ? null : roundToTenths(upstreamMs),
    bytesIn: record.bytesIn,
    bytesOut: record.bytesOut,
    config: record.configHash,
    trace_id: exchange?.trace?.traceId,
    failure: kind,
    fault,
    reason: failure.reason ?? undefined,
    cause: describeCause(failure),
  }
  if (kind === 'internal') log.error(fields, 'exchange')
  else if (fault === 'client') log.info(fields, 'exchange')
  else log.warn(fields, 'exchange')
}

// pino takes three times as long. No value needs escaping in JSON: an id is a sane token, the rest are addresses, the
// gateway's own names, and numbers.
const logSuccess = (log: Log, record: ExchangeRecord, destination: DestinationStream): void => {
  const { totalMs, exchange } = record
  if (exchange === null || !log.isLevelEnabled('info')) return // a request for no operation never succeeds
  const { operation, attempts } = exchange
  const { upstreamMs } = attempts
  destination.write(
    `{"level":30,"time":${epochMs()},"requestId":"${record.requestId}","client":"${record.client}"` +
      `${identityJson(exchange.identity)},"operation":"${operation.id}","status":${record.status},"endpoint":${stringOrNull(attempts.last?.endpoint ?? null)}${sideJson(exchange)}` +
      `,"attempts":${attempts.count}${failedAttemptsJson(record)}${outcomeJson(exchange.outcome)}` +
      `,"gatewayMs":${formatTenths(totalMs - (upstreamMs ?? 0))},"upstreamMs":${upstreamMs === null ? null : formatTenths(upstreamMs)}` +
      `,"bytesIn":${record.bytesIn},"bytesOut":${record.bytesOut},"config":"${record.configHash}"${traceJson(exchange.trace)},"msg":"exchange"}\n`,
  )
}

// Bounds a line. The exchange's own failure has its own members.
const maxFailedAttempts = 8

/** Leaves out the attempt whose result the client got. Undefined: none. */
const earlierFailures = ({ exchange, failure, status }: ExchangeRecord): readonly FailedAttempt[] | undefined => {
  const failed = exchange?.attempts.failed ?? null
  if (failed === null) return undefined
  const found = failed.at(-1)?.errorOrStatus === (failure ?? status) ? failed.slice(0, -1) : failed
  return found.length === 0 ? undefined : found.slice(0, maxFailedAttempts)
}

const failedAttemptsJson = (record: ExchangeRecord): string => {
  const found = earlierFailures(record)?.map(attemptLogFields)
  return found === undefined ? '' : `,"failedAttempts":${escapeQuotedControls(JSON.stringify(found))}`
}

const identityJson = (identity: ClientIdentity | null): string =>
  identity === null ? '' : `,"clientId":"${identity.client}","auth":"${identity.method}"`

const outcomeMembers = (outcome: RecordedOutcome | null): Readonly<Record<string, string | undefined>> =>
  outcome === null ? {} : { [outcome.source]: outcome.outcome, firstRequestId: outcome.firstRequestId ?? undefined }

// The id may come from a store that other programs can write to.
const outcomeJson = (record: RecordedOutcome | null): string => {
  if (record === null) return ''
  const { source, outcome, firstRequestId } = record
  return `,"${source}":"${outcome}"${firstRequestId === null ? '' : `,"firstRequestId":${escapeQuotedControls(JSON.stringify(firstRequestId))}`}`
}

// OpenTelemetry's name, so that a log and its trace can be joined.
const traceJson = (trace: ExchangeTrace | null): string => (trace === null ? '' : `,"trace_id":"${trace.traceId}"`)

const stringOrNull = (name: string | null): string => (name === null ? 'null' : `"${name}"`)

/** Two whole numbers are cheaper to write than one with a fraction. */
const formatTenths = (ms: number): string => {
  const rounded = Math.round(Math.max(0, ms) * 10)
  const whole = Math.trunc(rounded / 10)
  return `${whole}.${rounded - whole * 10}`
}
