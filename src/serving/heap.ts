import { setFlagsFromString } from 'node:v8'

/**
 * Keeps what is made for a request out of the old generation. V8 moves objects that are made where earlier ones lived long straight into
 * it, and under load takes what is made for a request for such: each then keeps alive all that it refers to, and every minor collection
 * copies megabytes of garbage.
 */
export const tuneHeap = (): void => setFlagsFromString('--no-allocation-site-pretenuring')
