let preparations: (() => void)[] = []
let pendingWrites: (() => void)[] = []

/** For tests, as `forgetTimers` of clock.ts. */
export const forgetWrites = (): void => {
  preparations = []
  pendingWrites = []
}

/**
 * Writes at the end of this turn of the event loop, with all other writes of the turn: a write that wakes a sleeping
 * peer costs more, and for the next write the peer is awake. All input of the turn has been read by then, which
 * `core/upstream/http1/connection.ts` counts on.
 */
export const batchWrite = (write: () => void): void => {
  pendingWrites.push(write)
  scheduleFirst()
}

/**
 * Calls `prepare` before the writes of this turn, so that it can add to them: time between two writes lets the peer
 * fall asleep.
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
      // The other writes belong to other exchanges.
      setImmediate(() => {
        throw error
      })
    }
  }
}
