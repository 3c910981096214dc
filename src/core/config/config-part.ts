import type * as z from 'zod'
import type { Beside } from '../lib/beside.ts'
import type { coreSchema } from './core-schema.ts'
import type { ConfigRule, WarningRule } from './rules/rule.ts'

/** A section of the configuration file that a feature reads, and its place among those of core. */
export type ConfigSection = Beside<keyof typeof coreSchema.shape> & {
  readonly key: string
  readonly schema: z.ZodType
}

/** What a feature brings to the configuration file. */
export interface ConfigPart {
  readonly sections?: readonly ConfigSection[]
  readonly rules?: readonly ConfigRule[]
  readonly warnings?: readonly WarningRule[]
}

export type LoadConfigPart = () => Promise<ConfigPart>

/** Of each feature that has keys in the file: added before `config-parts.ts` is imported. */
export const configPartLoaders = new Set<LoadConfigPart>()
