/** Ends the process, with 0, when whoever reads its output has gone: `… | head` has what it wanted. */
export const endWithReader = (): void => {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error // EIO: a terminal that was closed
    process.exit(0)
  })
}

/** Ends the process, with 0, when somebody has seen enough. */
export const endOnSignals = (): void => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(0))
}
