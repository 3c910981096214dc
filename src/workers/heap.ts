import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Keeps what is made for a request out of the old generation. V8 moves objects that are made where earlier ones lived long straight into
 * it, and under load takes what is made for a request for such: each then keeps alive all that it refers to, and every minor collection
 * copies megabytes of garbage.
 */
export const tuneHeap = (): void => setFlagsFromString('--no-allocation-site-pretenuring')

/**
 * Has V8 collect what loading the program has left behind. By itself it does so when the heap has grown further, which at
 * rest it never does: the young generation, grown to its full size by the start, would stay so for the life of the process.
 * For a process that serves nobody yet: it stands still for some hundredths of a second.
 */
export const collectStartupGarbage = (): void => {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc') // the flags are part of what Node compares its compile cache by
  if (typeof collect === 'function') collect()
}
