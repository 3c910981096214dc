// More would only let the first ones wait: the price of a wake-up is shared out by then.
const most = 32

let gathered: (() => void)[] = []
let isDue = false

/**
 * Writes at the end of this turn of the event loop, with all else that is written in it: a write to a peer that sleeps wakes it, which costs more than
 * the write does, and one that has been woken is still awake for the next. With nothing else to do the turn ends at once.
 */
export const gather = (write: () => void): void => {
  gathered.push(write)
  if (gathered.length >= most) return flush()
  if (isDue) return
  isDue = true
  setImmediate(end)
}

const end = (): void => {
  isDue = false
  flush()
}

const flush = (): void => {
  const writes = gathered
  gathered = []
  for (const write of writes) {
    try {
      write()
    } catch (error) {
      // The others belong to other exchanges. The process hears of it as of any defect.
      setImmediate(() => {
        throw error
      })
    }
  }
}
