import { settlesWithin } from '../lib/clock.ts'

/**
 * Lets a command finish after the reader of its output has closed the pipe: `… | head` has what it needs, and an
 * operator command still takes effect. Other errors, such as a full disk, end the process with 2.
 */
export const ignoreBrokenPipe = (): void => {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (isBrokenPipe(error)) return
      process.stderr.write(`lender-gateway: the output cannot be written (${error.code ?? error.message})\n`)
      process.exit(2) // the operator does not have the result
    })
}

const flushTimeoutMs = 1000 // for a reader that hangs

/** Waits up to 1 s for stderr: a pipe takes 64 KiB at once, and the process's exit would lose the rest. */
export const flushStderr = async (): Promise<void> => {
  const flushed = new Promise<void>((resolve) => {
    process.stderr.on('error', () => resolve()).write('', () => resolve())
  })
  await settlesWithin(flushTimeoutMs, flushed)
}

/** Ends the process with 0 when the reader has closed the pipe, for commands that would run for ever. */
export const exitOnBrokenPipe = (): void => {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isBrokenPipe(error)) process.exit(0)
  })
}

// EIO: a terminal that was closed.
const isBrokenPipe = ({ code }: NodeJS.ErrnoException): boolean => code === 'EPIPE' || code === 'EIO'

export const exitOnSignals = (): void => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => process.exit(0))
}
