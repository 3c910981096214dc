import { type ListenerPart, listenerPartLoaders } from './listener-part.ts'

/** In the order of the list of features. */
export const listenerParts: readonly ListenerPart[] = await Promise.all([...listenerPartLoaders].map((load) => load()))
