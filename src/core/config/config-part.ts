import type * as z from 'zod'
import type { Beside } from '../lib/beside.ts'
import type {
  OperationConfig,
  ParsedConfig,
  ParsedDefaults,
  ParsedOperation,
  ParsedUpstream,
  UpstreamConfig,
} from './config.ts'
import type { coreSchema } from './core-schema.ts'
import type { RenderedValue } from './redact.ts'
import type { ConfigRule, WarningRule } from './rules/rule.ts'
import type { defaultsSchema } from './sections/upstream-defaults.ts'

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

/** A key of `defaults`, which every group may state as well. Its value stands above the sides of a group. */
export type PolicyKey = Beside<keyof typeof defaultsSchema.shape> & {
  readonly key: string
  readonly schema: z.ZodType
}

/** A key of a group alone, behind all others. Its value is null where the group does not state it. */
export interface UpstreamKey {
  readonly key: string
  readonly schema: z.ZodType
  /** For editors; where it is not given, `schema`. */
  readonly described?: z.ZodType
  /** Whether its value is an upstream too, which inherits from its group. */
  readonly isUpstream?: true
  /** Renders its value, beside what is rendered of its group. */
  render?(schema: z.ZodType, value: unknown, group: Readonly<Record<string, RenderedValue>>): RenderedValue | undefined
}

/** Resolves what a group states of a feature's keys. In `own` those of features are null. */
export type ResolveUpstream = (
  stated: ParsedUpstream,
  defaults: ParsedDefaults,
  own: UpstreamConfig,
) => Partial<UpstreamConfig>

/** Resolves what an operation states of a feature's keys, with the rest of the file as its defaults. */
export type ResolveOperation = (stated: ParsedOperation | undefined, parsed: ParsedConfig) => Partial<OperationConfig>

/** What a feature brings to the configuration file. */
export interface ConfigPart {
  readonly sections?: readonly ConfigSection[]
  readonly operationKeys?: readonly OperationKey[]
  readonly resolveOperation?: ResolveOperation
  readonly policyKeys?: readonly PolicyKey[]
  readonly upstreamKeys?: readonly UpstreamKey[]
  readonly resolveUpstream?: ResolveUpstream
  readonly rules?: readonly ConfigRule[]
  readonly warnings?: readonly WarningRule[]
}

export type LoadConfigPart = () => Promise<ConfigPart>

/** Of each feature that has keys in the file: added before `config-schema.ts` is imported. */
export const configPartLoaders = new Set<LoadConfigPart>()

/** What all features bring, in the order of their list: there once `config-schema.ts` is loaded. */
export const configParts: ConfigPart[] = []

/** Lists the keys of a group whose value is an upstream too. */
export const nestedUpstreamKeys = (): readonly string[] =>
  configParts.flatMap((part) => part.upstreamKeys ?? []).flatMap(({ key, isUpstream }) => (isUpstream ? [key] : []))
