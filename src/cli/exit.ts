/**
 * Lets a command run to its end, and to its own exit code, after the reader of its output has gone: `… | head` has what
 * it wanted, and an operator command takes effect all the same.
 */
export const ignoreBrokenPipe = (): void => {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', rethrowUnlessBrokenPipe)
}

/** Ends the process with 0 when the reader of its output has gone: it would go on for ever. */
export const exitOnBrokenPipe = (): void => {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    rethrowUnlessBrokenPipe(error)
    process.exit(0)
  })
}

const rethrowUnlessBrokenPipe = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error // EIO: a terminal that was closed
}

/** Ends the process with 0 at a signal from the operator. */
export const exitOnSignals = (): void => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(0))
}
