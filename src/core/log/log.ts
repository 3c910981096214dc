import { isatty } from 'node:tty'
import type { DestinationStream, Logger, LoggerOptions } from 'pino'
import pino from 'pino'
import { type ClientIdentity, type ExchangeTrace, sideJson } from '../exchange/exchange.ts'
import type { RecordedOutcome } from '../exchange/exchange-outcomes.ts'
import { attemptLogFields, describeCause, type FailedAttempt } from '../exchange/failures/errors.ts'
import { epochMs, settlesWithin } from '../lib/clock.ts'
import { exitProcess } from '../lib/program.ts'
import { doubleEscapes, escapeQuotedControls } from '../lib/text/escape-controls.ts'
import { roundToTenths } from '../lib/text/units.ts'
import type { ExchangeObserver, ExchangeRecord } from './exchange-record.ts'
import { createLineRewriter, type LoggingConfig, type RewriteLine } from './log-format.ts'
import { LogQueue, openStdout } from './log-queue.ts'

export type LogEvent = (level: 'info' | 'warn', event: string, fields: Readonly<Record<string, unknown>>) => void

export type Log = Logger

const closeTimeoutMs = 1000

/** Escapes controls: a cause may quote Redis or an upstream, and terminals print it. */
export const logOptions = (level: string): LoggerOptions => ({
  level,
  base: null,
  serializers: { err: serializeError },
  hooks: { streamWrite: escapeQuotedControls },
})

/**
 * Opens the process's log: JSON lines on stdout, or readable ones on a terminal. Not through pino's own destination: it
 * keeps whatever a stalled reader does not take (63 MB became 292 in 10 s), or writes from the thread pool, where a
 * stalled reader holds one of four threads.
 */
export const openLog = async (config: LoggingConfig) => {
  const { level, buffer } = config.log
  const options = logOptions(level)
  if (isatty(1)) {
    const screen = await openTerminalLog()
    const forwardLines = (lines: Buffer): void => void screen.write(lines.toString())
    return { log: pino(options, screen), dropped: () => 0, forwardLines, close: async () => {} }
  }

  let reported = 0
  const queue = new LogQueue(openStdout(), buffer, () => {
    if (queue.dropped === reported) return
    log.warn({ dropped: queue.dropped - reported }, 'log lines dropped: the reader of stdout is too slow')
    reported = queue.dropped
  })
  const rewrite = createLineRewriter(config)
  const log = pino(options, rewrite === null ? queue : new RewritingDestination(queue, rewrite))
  return {
    log,
    dropped: () => queue.dropped,
    forwardLines: (lines: Buffer): void => queue.forward(lines),
    /** Waits for at most a second: a stalled reader takes nothing. */
    close: async (): Promise<void> => void (await settlesWithin(closeTimeoutMs, queue.end())),
  }
}

class RewritingDestination {
  readonly output: DestinationStream
  rewrite: RewriteLine

  constructor(output: DestinationStream, rewrite: RewriteLine) {
    this.output = output
    this.rewrite = rewrite
  }

  write(line: string): void {
    this.output.write(this.rewrite(line))
  }
}

/** A reload can change the level, and what each line says of the gateway. */
export const applyLogConfig = (log: Log, config: LoggingConfig): void => {
  log.level = config.log.level
  const destination = getLogDestination(log)
  // log.format needs a restart: lines are still rewritten.
  if (destination instanceof RewritingDestination)
    destination.rewrite = createLineRewriter(config) ?? destination.rewrite
}

const getLogDestination = (log: Log): DestinationStream =>
  (log as Log & { readonly [pino.symbols.streamSym]: DestinationStream })[pino.symbols.streamSym]

/** For lines of others, such as the audit log's: they are not rewritten. */
export const getRawLogDestination = (log: Log): DestinationStream => {
  const destination = getLogDestination(log)
  return destination instanceof RewritingDestination ? destination.output : destination
}

export const openTerminalLog = async (destination: 1 | NodeJS.WritableStream = 1): Promise<DestinationStream> => {
  const { default: prettyStream } = await import('pino-pretty')
  const options = { sync: true, ignore: '', translateTime: 'SYS:HH:MM:ss.l', singleLine: true }
  const pretty = prettyStream({ ...options, destination })
  // pino-pretty parses each line, and prints messages and stacks as they then are.
  return { write: (lines) => void pretty.write(doubleEscapes(lines)) }
}

// A chain of causes may be circular.
const maxCauses = 8

/** No other properties, which pino's serializer copies: bytes, requests, or options with credentials. */
export const serializeError = (thrown: unknown) => {
  if (!(thrown instanceof Error)) return `a ${typeof thrown} was thrown`
  const { code } = thrown as NodeJS.ErrnoException
  const serialized = { type: thrown.name, message: thrown.message, stack: causeStacks(thrown).join('\ncaused by: ') }
  return typeof code === 'string' ? { ...serialized, code } : serialized
}

const causeStacks = (error: Error): readonly string[] => {
  const stacks: string[] = []
  for (let at: unknown = error; at instanceof Error && stacks.length < maxCauses; at = at.cause)
    stacks.push(at.stack ?? `${at.name}: ${at.message}`)
  return stacks
}

export const exitOnUncaughtException = (
  log: Log,
  closeLog: () => Promise<void>,
  fields: Readonly<Record<string, unknown>> = {},
): void => {
  process.on('uncaughtException', (error) => {
    log.fatal({ ...fields, err: error }, 'uncaught error')
    void closeLog().finally(() => exitProcess(1))
  })
}

export const accessLog = (log: Log): ExchangeObserver => ({
  name: 'access-log',
  record: (record) => logAccess(log, record),
})

/** An allow-list: never a field value, a query value or a body. */
export const logAccess = (log: Log, record: ExchangeRecord): void => {
  const { failure } = record
  if (failure === null) return logSuccess(log, record)
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

// Rendered here, because every successful exchange writes a line: pino takes three times as long. No value needs
// escaping in JSON: an id is a sane token, the rest are addresses, the gateway's own names, and numbers.
const logSuccess = (log: Log, record: ExchangeRecord): void => {
  const { totalMs, exchange } = record
  if (exchange === null || !log.isLevelEnabled('info')) return // a request for no operation never succeeds
  const { operation, attempts } = exchange
  const { upstreamMs } = attempts
  getLogDestination(log).write(
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

/** To a tenth. Two whole numbers are cheaper to write than one with a fraction. */
const formatTenths = (ms: number): string => {
  const rounded = Math.round(Math.max(0, ms) * 10)
  const whole = Math.trunc(rounded / 10)
  return `${whole}.${rounded - whole * 10}`
}
