let pendingWrites: (() => void)[] = []

/**
 * Writes at the end of this turn of the event loop, together with everything else that is written in it. A write to a
 * peer that sleeps wakes it, which costs more than the write does; for the next write it is still awake. With nothing
 * else to do the turn ends at once. Everything that has come in the turn has been read by then, which
 * `core/upstream/http1/connection.ts` counts on.
 */
export const batchWrite = (write: () => void): void => {
  if (pendingWrites.push(write) === 1) setImmediate(flush)
}

const flush = (): void => {
  const writes = pendingWrites
  pendingWrites = []
  for (const write of writes) {
    try {
      write()
    } catch (error) {
      // The others belong to other exchanges. The process handles the error as any other defect.
      setImmediate(() => {
        throw error
      })
    }
  }
}
