import { listenerPartLoaders } from './listener-part.ts'

/** In the order of the list of features. */
export const listenerParts = await listenerPartLoaders.load()
