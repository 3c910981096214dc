import { epochMs } from '../clock.ts'
import type { ClientIdentity, ExchangeTrace } from '../exchange.ts'
import { attemptLogFields, describeCause, type FailedAttempt } from '../failures/errors.ts'
import { failureTable } from '../failures/kinds.ts'
import type { ExchangeObserver, ExchangeRecord } from './exchange-record.ts'
import { getLogDestination, type Log } from './log.ts'

/** Writes a line for each exchange. */
export const accessLog = (log: Log): ExchangeObserver => ({
  name: 'access-log',
  record: (record) => logAccess(log, record),
})

/** Writes the one line of an exchange: an allow-list, with never a field value, a query value or a body. */
export const logAccess = (log: Log, record: ExchangeRecord): void => {
  const { failure } = record
  if (failure === null) return logSuccess(log, record)
  const { totalMs, exchange } = record
  const upstreamMs = exchange?.upstreamMs ?? null
  const { kind } = failure
  const { fault } = failureTable[kind]
  const fields = {
    requestId: record.requestId,
    client: record.client,
    clientId: exchange?.identity?.client,
    auth: exchange?.identity?.method,
    operation: exchange?.operation.id ?? null,
    status: record.status,
    endpoint: exchange?.attempt?.endpoint ?? null,
    attempts: exchange?.attempts ?? 0,
    failedAttempts: earlierFailures(record)?.map(attemptLogFields),
    cache: exchange?.cache ?? undefined,
    gatewayMs: tenths(totalMs - (upstreamMs ?? 0)),
    upstreamMs: upstreamMs === null ? null : tenths(upstreamMs),
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

// One for every exchange that goes well, so it is rendered here: pino walks over an object to the same end in three times the time. No
// value can hold what JSON would have to escape: an id is a sane token, the rest are addresses, names of ours and numbers.
const logSuccess = (log: Log, record: ExchangeRecord): void => {
  const { totalMs, exchange } = record
  if (exchange === null || !log.isLevelEnabled('info')) return // what is none of the nine does not go well
  const { operation, attempt, upstreamMs, cache } = exchange
  getLogDestination(log).write(
    `{"level":30,"time":${epochMs()},"requestId":"${record.requestId}","client":"${record.client}"` +
      `${identityJson(exchange.identity)},"operation":"${operation.id}","status":${record.status},"endpoint":${stringOrNull(attempt?.endpoint ?? null)}` +
      `,"attempts":${exchange.attempts}${failedAttemptsJson(record)}${cache === null ? '' : `,"cache":"${cache}"`}` +
      `,"gatewayMs":${formatTenths(totalMs - (upstreamMs ?? 0))},"upstreamMs":${upstreamMs === null ? null : formatTenths(upstreamMs)}` +
      `,"bytesIn":${record.bytesIn},"bytesOut":${record.bytesOut},"config":"${record.configHash}"${traceJson(exchange.trace)},"msg":"exchange"}\n`,
  )
}

// A line of each would be one for every attempt; and the exchange's own failure is said by the line itself.
const maxFailedAttempts = 8

/** Lists the first attempts that failed, but for the one that the client was answered with; undefined: there is none. */
const earlierFailures = ({ exchange, failure, status }: ExchangeRecord): readonly FailedAttempt[] | undefined => {
  const all = exchange?.failedAttempts ?? null
  if (all === null) return undefined
  const found = all.at(-1)?.errorOrStatus === (failure ?? status) ? all.slice(0, -1) : all
  return found.length === 0 ? undefined : found.slice(0, maxFailedAttempts)
}

const failedAttemptsJson = (record: ExchangeRecord): string => {
  const found = earlierFailures(record)
  return found === undefined ? '' : `,"failedAttempts":${JSON.stringify(found.map(attemptLogFields))}`
}

const identityJson = (identity: ClientIdentity | null): string =>
  identity === null ? '' : `,"clientId":"${identity.client}","auth":"${identity.method}"`

// As OpenTelemetry has it, so that whoever reads both finds one by the other.
const traceJson = (trace: ExchangeTrace | null): string => (trace === null ? '' : `,"trace_id":"${trace.traceId}"`)

const stringOrNull = (name: string | null): string => (name === null ? 'null' : `"${name}"`)

/** Renders a duration to a tenth. Two whole numbers are cheaper to write than one with a fraction. */
const formatTenths = (ms: number): string => {
  const all = Math.round(Math.max(0, ms) * 10)
  const whole = Math.trunc(all / 10)
  return `${whole}.${all - whole * 10}`
}

const tenths = (ms: number): number => Math.round(ms * 10) / 10
