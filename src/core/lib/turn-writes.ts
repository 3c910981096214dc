let preparations: (() => void)[] = []
let pendingWrites: (() => void)[] = []

/** For tests, as `forgetTimers` of clock.ts. */
export const forgetWrites = (): void => {
  preparations = []
  pendingWrites = []
}

/**
 * Writes at the end of this turn of the event loop, with all other writes of the turn. A write to a sleeping peer wakes
 * it, which costs more than the write; for the next write it is still awake. An idle turn ends at once. All input of
 * the turn has been read by then, which `core/upstream/http1/connection.ts` counts on.
 */
export const batchWrite = (write: () => void): void => {
  pendingWrites.push(write)
  scheduleFirst()
}

/**
 * Calls at the end of this turn, before its writes, which `prepare` may add to: what takes time between two writes lets
 * the peer fall asleep.
 */
export const prepareWrite = (prepare: () => void): void => {
  preparations.push(prepare)
  scheduleFirst()
}

const scheduleFirst = (): void => {
  if (preparations.length + pendingWrites.length === 1) setImmediate(flush)
}

const flush = (): void => {
  callAll(preparations)
  preparations = []
  const writes = pendingWrites
  pendingWrites = []
  callAll(writes)
}

const callAll = (calls: readonly (() => void)[]): void => {
  for (const call of calls) {
    try {
      call()
    } catch (error) {
      // The others belong to other exchanges. The process handles the error as any other defect.
      setImmediate(() => {
        throw error
      })
    }
  }
}
