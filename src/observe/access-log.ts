import { wallClock } from '../clock.ts'
import type { ExchangeTrace, Identity } from '../exchange.ts'
import { attemptFields, causeOf, type FailedAttempt } from '../failures/errors.ts'
import { failures } from '../failures/kinds.ts'
import type { Exchanged, Recorder } from './exchanged.ts'
import { destinationOf, type Log } from './log.ts'

/** Writes a line for each exchange. */
export const accessLog = (log: Log): Recorder => ({
  name: 'access-log',
  record: (exchanged) => logAccess(log, exchanged),
})

/** Writes the one line of an exchange: an allow-list, with never a field value, a query value or a body. */
export const logAccess = (log: Log, exchanged: Exchanged): void => {
  const { failure } = exchanged
  if (failure === null) return logSuccess(log, exchanged)
  const { totalMs, exchange } = exchanged
  const upstreamMs = exchange?.upstreamMs ?? null
  const { kind } = failure
  const { fault } = failures[kind]
  const why = {
    requestId: exchanged.requestId,
    client: exchanged.client,
    clientId: exchange?.identity?.client,
    auth: exchange?.identity?.method,
    operation: exchange?.operation.id ?? null,
    status: exchanged.status,
    endpoint: exchange?.attempt?.endpoint ?? null,
    attempts: exchange?.attempts ?? 0,
    failedAttempts: earlier(exchanged)?.map(attemptFields),
    cache: exchange?.cache ?? undefined,
    gatewayMs: tenths(totalMs - (upstreamMs ?? 0)),
    upstreamMs: upstreamMs === null ? null : tenths(upstreamMs),
    bytesIn: exchanged.bytesIn,
    bytesOut: exchanged.bytesOut,
    config: exchanged.configHash,
    trace_id: exchange?.trace?.traceId,
    failure: kind,
    fault,
    reason: failure.reason ?? undefined,
    cause: causeOf(failure),
  }
  if (kind === 'internal') log.error(why, 'exchange')
  else if (fault === 'client') log.info(why, 'exchange')
  else log.warn(why, 'exchange')
}

// One for every exchange that goes well, so it is rendered here: pino walks over an object to the same end in three times the time. No
// value can hold what JSON would have to escape: an id is a sane token, the rest are addresses, names of ours and numbers.
const logSuccess = (log: Log, exchanged: Exchanged): void => {
  const { totalMs, exchange } = exchanged
  if (exchange === null || !log.isLevelEnabled('info')) return // what is none of the nine does not go well
  const { operation, attempt, upstreamMs, cache } = exchange
  destinationOf(log).write(
    `{"level":30,"time":${wallClock()},"requestId":"${exchanged.requestId}","client":"${exchanged.client}"` +
      `${identified(exchange.identity)},"operation":"${operation.id}","status":${exchanged.status},"endpoint":${quoted(attempt?.endpoint ?? null)}` +
      `,"attempts":${exchange.attempts}${retried(exchanged)}${cache === null ? '' : `,"cache":"${cache}"`}` +
      `,"gatewayMs":${decimal(totalMs - (upstreamMs ?? 0))},"upstreamMs":${upstreamMs === null ? null : decimal(upstreamMs)}` +
      `,"bytesIn":${exchanged.bytesIn},"bytesOut":${exchanged.bytesOut},"config":"${exchanged.configHash}"${traced(exchange.trace)},"msg":"exchange"}\n`,
  )
}

// A line of each would be one for every attempt; and the exchange's own failure is said by the line itself.
const mostAttempts = 8

/** Lists the first attempts that failed, but for the one that the client was answered with; undefined: there is none. */
const earlier = ({ exchange, failure, status }: Exchanged): readonly FailedAttempt[] | undefined => {
  const all = exchange?.failedAttempts ?? null
  if (all === null) return undefined
  const found = all.at(-1)?.why === (failure ?? status) ? all.slice(0, -1) : all
  return found.length === 0 ? undefined : found.slice(0, mostAttempts)
}

const retried = (exchanged: Exchanged): string => {
  const found = earlier(exchanged)
  return found === undefined ? '' : `,"failedAttempts":${JSON.stringify(found.map(attemptFields))}`
}

const identified = (identity: Identity | null): string =>
  identity === null ? '' : `,"clientId":"${identity.client}","auth":"${identity.method}"`

// As OpenTelemetry has it, so that whoever reads both finds one by the other.
const traced = (trace: ExchangeTrace | null): string => (trace === null ? '' : `,"trace_id":"${trace.traceId}"`)

const quoted = (name: string | null): string => (name === null ? 'null' : `"${name}"`)

/** Renders a duration to a tenth. Two whole numbers are cheaper to write than one with a fraction. */
const decimal = (ms: number): string => {
  const all = Math.round(Math.max(0, ms) * 10)
  const whole = Math.trunc(all / 10)
  return `${whole}.${all - whole * 10}`
}

const tenths = (ms: number): number => Math.round(ms * 10) / 10
