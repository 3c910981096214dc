import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Keeps a request's objects out of V8's old generation, where each would keep its references alive: V8 allocates there
 * where earlier objects of a site seem to live long, as under load. Call it once all is loaded: V8 takes compiled code
 * only under the flags of its compilation.
 */
export const tuneHeap = (): void => setFlagsFromString('--no-allocation-site-pretenuring')

/** Stops the process for tens of ms: call it before clients are served. */
export const collectStartupGarbage = (): void => {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc') // Node compares its compile cache by the flags too
  if (typeof collect === 'function') collect()
}
