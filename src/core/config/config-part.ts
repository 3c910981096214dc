import type * as z from 'zod'
import type { Beside } from '../lib/beside.ts'
import type { OperationConfig, ParsedConfig, ParsedOperation } from './config.ts'
import type { coreSchema } from './core-schema.ts'
import type { ConfigRule, WarningRule } from './rules/rule.ts'

/** A section of the configuration file that a feature reads, and its place among those of core. */
export type ConfigSection = Beside<keyof typeof coreSchema.shape> & {
  readonly key: string
  readonly schema: z.ZodType
}

/** A key of operations, behind those of core. It is unknown where its schema is missing. */
export interface OperationKey {
  readonly key: string
  /** Its place among those of all features. */
  readonly order: number
  readonly get?: z.ZodType
  readonly post?: z.ZodType
  /** Whether an operation that states nothing has what the section of this name says. */
  readonly isInherited?: true
}

/** Resolves what an operation states of a feature's keys, with the rest of the file as its defaults. */
export type ResolveOperation = (stated: ParsedOperation | undefined, parsed: ParsedConfig) => Partial<OperationConfig>

/** What a feature brings to the configuration file. */
export interface ConfigPart {
  readonly sections?: readonly ConfigSection[]
  readonly operationKeys?: readonly OperationKey[]
  readonly resolveOperation?: ResolveOperation
  readonly rules?: readonly ConfigRule[]
  readonly warnings?: readonly WarningRule[]
}

export type LoadConfigPart = () => Promise<ConfigPart>

/** Of each feature that has keys in the file: added before `config-schema.ts` is imported. */
export const configPartLoaders = new Set<LoadConfigPart>()

/** What all features bring, in the order of their list: there once `config-schema.ts` is loaded. */
export const configParts: ConfigPart[] = []
