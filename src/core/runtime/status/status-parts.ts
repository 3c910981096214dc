import { type StatusPart, statusPartLoaders } from './status-part.ts'

/** In the order of the list of features. */
export const statusParts: readonly StatusPart[] = await Promise.all([...statusPartLoaders].map((load) => load()))
