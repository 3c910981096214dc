import type { Config } from '../config/config.ts'
import { type RuntimePart, runtimePartLoaders } from './runtime-part.ts'

/** In the order of the list of features. */
export const runtimeParts: readonly RuntimePart[] = await Promise.all([...runtimePartLoaders].map((load) => load()))

/** Loads what a configuration needs, before a snapshot is built from it. */
export const prepareParts = async (config: Config): Promise<void> => {
  await Promise.all(runtimeParts.map((part) => part.prepare?.(config)))
}
