import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Keeps the objects of a request out of V8's old generation. V8 allocates objects directly there if earlier ones of the
 * same allocation site lived long, and under load takes those of a request for such. Each then keeps alive everything
 * that it refers to, and every minor collection copies megabytes of garbage.
 */
export const tuneHeap = (): void => setFlagsFromString('--no-allocation-site-pretenuring')

/**
 * Collects what loading the program has left behind. V8 itself collects only when the heap has grown further, which at
 * rest it never does: the young generation, grown to its full size by the start, would stay so for the life of the
 * process. For a process that serves no client yet: it stands still for some hundredths of a second.
 */
export const collectStartupGarbage = (): void => {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc') // Node compares its compile cache by the flags too
  if (typeof collect === 'function') collect()
}
