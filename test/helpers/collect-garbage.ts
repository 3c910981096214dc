import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Collects all garbage, in a process that was started without `--expose-gc` too. */
export const collectGarbage = (): void => {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}

/** What the process holds when all garbage is collected, in bytes. */
export const heldBytes = async (): Promise<number> => {
  collectGarbage()
  await setImmediate()
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
