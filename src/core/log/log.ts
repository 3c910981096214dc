import { isatty } from 'node:tty'
import type { DestinationStream, Logger, LoggerOptions } from 'pino'
import pino from 'pino'
import { settlesWithin } from '../lib/clock.ts'
import { exitProcess } from '../lib/program.ts'
import { doubleEscapes, escapeQuotedControls } from '../lib/text/escape-controls.ts'
import { createLineRewriter, type LoggingConfig, type RewriteLine } from './log-format.ts'
import { LogQueue, openStdout } from './log-queue.ts'

export type LogEvent = (level: 'info' | 'warn', event: string, fields: Readonly<Record<string, unknown>>) => void

export type Log = Logger

const closeTimeoutMs = 1000

/** A cause may quote Redis or an upstream, and terminals print it. */
export const logOptions = (level: string): LoggerOptions => ({
  level,
  base: null,
  serializers: { err: serializeError },
  hooks: { streamWrite: escapeQuotedControls },
})

/**
 * Not through pino's own destination: it keeps whatever a stalled reader does not take (63 MB became 292 in 10 s), or
 * writes from the thread pool, where a stalled reader holds one of four threads.
 */
export const openLog = async (config: LoggingConfig, serviceName?: string) => {
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
  const rewrite = createLineRewriter(config, serviceName)
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

export const applyLogConfig = (log: Log, config: LoggingConfig, serviceName?: string): void => {
  log.level = config.log.level
  const destination = getLogDestination(log)
  // log.format needs a restart: lines are still rewritten.
  if (destination instanceof RewritingDestination)
    destination.rewrite = createLineRewriter(config, serviceName) ?? destination.rewrite
}

export const getLogDestination = (log: Log): DestinationStream =>
  (log as Log & { readonly [pino.symbols.streamSym]: DestinationStream })[pino.symbols.streamSym]

/** For lines that are not rewritten, such as the audit log's. */
export const getRawLogDestination = (log: Log): DestinationStream => {
  const destination = getLogDestination(log)
  return destination instanceof RewritingDestination ? destination.output : destination
}

export const openTerminalLog = async (destination: 1 | NodeJS.WritableStream = 1): Promise<DestinationStream> => {
  const { default: prettyStream } = await import('pino-pretty')
  const options = { sync: true, ignore: '', translateTime: 'SYS:HH:MM:ss.l', singleLine: true }
  const pretty = prettyStream({ ...options, destination })
  // pino-pretty prints messages and stacks unescaped.
  return { write: (lines) => void pretty.write(doubleEscapes(lines)) }
}

// A chain of causes may be circular.
const maxCauses = 8

/** pino's serializer also copies other properties: bytes, requests, or options with credentials. */
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
