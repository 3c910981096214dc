import { isatty } from 'node:tty'
import pino, { type DestinationStream, type Logger, type LoggerOptions } from 'pino'
import { settlesWithin } from '../lib/clock.ts'
import { exitProcess } from '../lib/exit-process.ts'
import { doubleEscapes, escapeQuotedControls } from '../lib/text/escape-controls.ts'
import { createLineRewriter, type LoggingConfig, type RewriteLine } from './log-format.ts'
import { LogQueue, openStdout } from './log-queue.ts'

export type Log = Logger

const closeTimeoutMs = 1000

/** Returns how pino writes lines. A cause may quote what Redis or an upstream wrote, and terminals print it. */
export const logOptions = (level: string): LoggerOptions => ({
  level,
  base: null,
  serializers: { err: serializeError },
  hooks: { streamWrite: escapeQuotedControls },
})

/**
 * Opens the process's log: JSON lines on stdout, or readable ones when stdout is a terminal. Not through pino's own
 * destination. It keeps whatever a stalled reader does not take (63 MB became 292 in 10 s); or it writes from the
 * thread pool, and then a stalled reader holds one of its four threads.
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
    /** Lines dropped because the reader was too slow. */
    dropped: () => queue.dropped,
    /** Queues whole lines that another process has written. */
    forwardLines: (lines: Buffer): void => queue.forward(lines),
    /** Writes what waits, for at most a second: a stalled reader takes nothing. */
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

/** Applies what a reload can change of a log: its level, and what each line says of the gateway. */
export const applyLogConfig = (log: Log, config: LoggingConfig): void => {
  log.level = config.log.level
  const destination = getLogDestination(log)
  // log.format needs a restart: what rewrites lines goes on to.
  if (destination instanceof RewritingDestination)
    destination.rewrite = createLineRewriter(config) ?? destination.rewrite
}

export const getLogDestination = (log: Log): DestinationStream =>
  (log as Log & { readonly [pino.symbols.streamSym]: DestinationStream })[pino.symbols.streamSym]

/** Gets the stream for lines which are none of the log's, such as those of the audit log: they stay as they are. */
export const getRawLogDestination = (log: Log): DestinationStream => {
  const destination = getLogDestination(log)
  return destination instanceof RewritingDestination ? destination.output : destination
}

/** Opens what shows lines in a terminal, standard output unless told otherwise. */
export const openTerminalLog = async (destination: 1 | NodeJS.WritableStream = 1): Promise<DestinationStream> => {
  const { default: prettyStream } = await import('pino-pretty')
  const options = { sync: true, ignore: '', translateTime: 'SYS:HH:MM:ss.l', singleLine: true }
  const pretty = prettyStream({ ...options, destination })
  // It parses each line, and prints messages and stacks as they then are.
  return { write: (lines) => void pretty.write(doubleEscapes(lines)) }
}

interface SerializedError {
  readonly type: string
  readonly message: string
  readonly code?: string
  /** Its own stack, followed by those of its causes. */
  readonly stack: string
}

// A chain of causes may be circular.
const maxCauses = 8

/**
 * Serializes what may be shown of an error, and no other property of it. Errors of Node and of libraries carry the
 * bytes, the request or the options that they are about, credentials among them. pino's own serializer copies all of
 * that.
 */
export const serializeError = (thrown: unknown): SerializedError | string => {
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

/** Ends the process with 1 on an uncaught error, once the log has it. `fields` say which process it is. */
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
