import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Keeps a request's objects out of V8's old generation, where each object would keep alive what it refers to. Under
 * load, V8 would allocate them there, because earlier objects of the same site seemed to live long. Call this function
 * when all modules are loaded: V8 accepts compiled code only under the flags of its compilation.
 */
export const tuneHeap = (): void => setFlagsFromString('--no-allocation-site-pretenuring')

/** Stops the process for tens of ms: call it before clients are served. */
export const collectStartupGarbage = (): void => {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc') // Node compares its compile cache by the flags too
  if (typeof collect === 'function') collect()
}
