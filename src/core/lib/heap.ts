import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Keeps a request's objects out of V8's old generation. V8 allocates directly there if earlier objects of an allocation
 * site lived long, as they seem to under load. Each such object keeps its references alive, and every minor collection
 * copies megabytes of garbage.
 */
export const tuneHeap = (): void => setFlagsFromString('--no-allocation-site-pretenuring')

/**
 * Collects what loading the program has left behind: V8 collects only when the heap grows, which it never does at rest.
 * Stops the process for some hundredths of a second, so call it before the process serves clients.
 */
export const collectStartupGarbage = (): void => {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc') // Node compares its compile cache by the flags too
  if (typeof collect === 'function') collect()
}
