import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Keeps a request's objects out of V8's old generation, where each would keep its references alive. V8 allocates there
 * at once where earlier objects of an allocation site lived long, as they seem to under load. Call it once all is
 * loaded: V8 takes compiled code only under the flags that it was compiled under, and Node's own comes compiled.
 */
export const tuneHeap = (): void => setFlagsFromString('--no-allocation-site-pretenuring')

/** V8 collects only when the heap grows. Stops the process for tens of ms: call it before clients are served. */
export const collectStartupGarbage = (): void => {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc') // Node compares its compile cache by the flags too
  if (typeof collect === 'function') collect()
}
