import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects all garbage, in a process that was started without `--expose-gc` too. */
export const collectGarbage = (): void => {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

// Far less than any test looks for.
const steadyBytes = 64 * 1024

/** What the process holds when all garbage is collected, in bytes. V8 frees some of it at the next collection. */
export const heldBytes = async (): Promise<number> => {
  for (let held = Number.POSITIVE_INFINITY; ; ) {
    collectGarbage()
    await setImmediate()
    const { heapUsed, external } = process.memoryUsage()
    if (heapUsed + external > held - steadyBytes) return heapUsed + external
    held = heapUsed + external
  }
}
