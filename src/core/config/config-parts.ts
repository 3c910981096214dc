import { type ConfigPart, configPartLoaders } from './config-part.ts'

/** What all features bring to the configuration file, in the order of their list. */
export const configParts: readonly ConfigPart[] = await Promise.all([...configPartLoaders].map((load) => load()))
