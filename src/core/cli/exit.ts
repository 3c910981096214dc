import { settlesWithin } from '../lib/clock.ts'

/**
 * Lets a command run to its end, and to its own exit code, after the reader of its output has gone: `… | head` has what
 * it wanted, and an operator command takes effect all the same. What cannot be written for another reason, such as a
 * full disk, ends the process with 2: whatever the result is, the operator does not have it.
 */
export const ignoreBrokenPipe = (): void => {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (isBrokenPipe(error)) return
      process.stderr.write(`lender-gateway: the output cannot be written (${error.code ?? error.message})\n`)
      process.exit(2)
    })
}

// A reader that hangs is not waited for any longer.
const flushTimeoutMs = 1000

/**
 * Waits until stderr has taken what was written, or its reader has gone, for a second at most. A pipe takes 64 KiB at
 * once: the rest would be lost when the process exits.
 */
export const flushStderr = async (): Promise<void> => {
  const flushed = new Promise<void>((resolve) => {
    process.stderr.on('error', () => resolve()).write('', () => resolve())
  })
  await settlesWithin(flushTimeoutMs, flushed)
}

/** Ends the process with 0 when the reader of its output has gone: it would go on for ever. */
export const exitOnBrokenPipe = (): void => {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isBrokenPipe(error)) process.exit(0)
  })
}

// EIO: a terminal that was closed.
const isBrokenPipe = ({ code }: NodeJS.ErrnoException): boolean => code === 'EPIPE' || code === 'EIO'

/** Ends the process with 0 at a signal from the operator. */
export const exitOnSignals = (): void => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => process.exit(0))
}
