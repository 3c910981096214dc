import { isatty } from 'node:tty'
import pino, { type DestinationStream, type Logger } from 'pino'
import { within } from '../clock.ts'
import type { LogConfig } from '../config/config.ts'
import { Output, openStdout } from './output.ts'

/** Writes events with their fields. */
export type Log = Logger

/** A log and what must be known of its queue. */
export type LogSink = Awaited<ReturnType<typeof openLog>>

const closeWithinMs = 1000

/**
 * Makes the process's log: JSON lines on stdout, or readable ones when stdout is a terminal. Not through pino's own destination: it
 * keeps whatever a stalled reader does not take (63 MB became 292 in 10 s), or writes from the thread pool, and then a process with a
 * stalled reader does not exit.
 */
export const openLog = async (config: LogConfig) => {
  const options = { level: config.level, base: null, serializers: { err: shownError } }
  if (isatty(1)) {
    const screen = await pretty()
    const passOn = (lines: Buffer): void => void screen.write(lines.toString())
    return { log: pino(options, screen), dropped: () => 0, passOn, close: async () => {} }
  }

  let reported = 0
  const output = new Output(openStdout(), config.buffer, () => {
    if (output.dropped === reported) return
    log.warn({ dropped: output.dropped - reported }, 'log lines dropped: the reader of stdout is too slow')
    reported = output.dropped
  })
  const log = pino(options, output)
  return {
    log,
    /** Lines dropped because the reader was too slow. */
    dropped: () => output.dropped,
    /** Takes whole lines that another process has written. */
    passOn: (lines: Buffer): void => output.pass(lines),
    /** Writes what waits, giving up when the reader takes nothing. */
    close: async (): Promise<void> => void (await within(closeWithinMs, output.end())),
  }
}

/** Finds what a log writes its lines to. */
export const destinationOf = (log: Log): DestinationStream =>
  (log as Log & { readonly [pino.symbols.streamSym]: DestinationStream })[pino.symbols.streamSym]

const pretty = async (): Promise<DestinationStream> => {
  const { default: prettyStream } = await import('pino-pretty')
  return prettyStream({ sync: true, ignore: '', translateTime: 'SYS:HH:MM:ss.l', singleLine: true })
}

/** Is an error as a line of the log shows it. */
interface ShownError {
  readonly type: string
  readonly message: string
  readonly code?: string
  /** Its own, and below it those of its causes. */
  readonly stack: string
}

// A chain may be a ring.
const mostCauses = 8

/**
 * Writes what may be shown of an error, and nothing that else hangs on it: those of Node and of libraries carry the bytes, the request or the
 * options that they are about, credentials among them. pino's own serializer copies all of that.
 */
export const shownError = (thrown: unknown): ShownError | string => {
  if (!(thrown instanceof Error)) return `a ${typeof thrown} was thrown`
  const { code } = thrown as NodeJS.ErrnoException
  const shown = { type: thrown.name, message: thrown.message, stack: stacks(thrown).join('\ncaused by: ') }
  return typeof code === 'string' ? { ...shown, code } : shown
}

const stacks = (error: Error): readonly string[] => {
  const found: string[] = []
  for (let at: unknown = error; at instanceof Error && found.length < mostCauses; at = at.cause)
    found.push(at.stack ?? `${at.name}: ${at.message}`)
  return found
}

/** Has the process end with 1 when nobody catches an error, once the log has it. `fields` say whose it is. */
export const exitWhenUncaught = (
  log: Log,
  closeLog: () => Promise<void>,
  fields: Readonly<Record<string, unknown>> = {},
): void => {
  process.on('uncaughtException', (error) => {
    log.fatal({ ...fields, err: error }, 'uncaught error')
    void closeLog().finally(() => process.exit(1))
  })
}
