import { settlesWithin } from '../lib/clock.ts'

/**
 * A command finishes after the reader of its output has closed the pipe (`… | head`): an operator command still takes
 * effect. For other errors, such as a full disk, it ends with 2.
 */
export const ignoreBrokenPipe = (): void => {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (isBrokenPipe(error)) return
      process.stderr.write(`lender-gateway: the output cannot be written (${error.code ?? error.message})\n`)
      process.exit(2)
    })
}

const flushTimeoutMs = 1000

/** Waits up to 1 s for stderr: a pipe holds 64 KiB, and an exit loses the rest. */
export const flushStderr = async (): Promise<void> => {
  const flushed = new Promise<void>((resolve) => {
    process.stderr.on('error', () => resolve()).write('', () => resolve())
  })
  await settlesWithin(flushTimeoutMs, flushed)
}

/** For commands without an end: a closed pipe ends them with 0. */
export const exitOnBrokenPipe = (): void => {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isBrokenPipe(error)) process.exit(0)
  })
}

const isBrokenPipe = ({ code }: NodeJS.ErrnoException): boolean => code === 'EPIPE' || code === 'EIO'

export const exitOnSignals = (): void => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(signal, () => process.exit(0))
}
