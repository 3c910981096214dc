import type * as z from 'zod'
import type { Beside } from '../lib/beside.ts'
import type { OperatorScope } from '../lib/operator-scopes.ts'
import type {
  AdminConfig,
  OperationConfig,
  ParsedConfig,
  ParsedDefaults,
  ParsedOperation,
  ParsedUpstream,
  UpstreamConfig,
} from './config.ts'
import type { coreSchema } from './core-schema.ts'
import type { KeyPath } from './problem.ts'
import type { RenderedValue } from './redact.ts'
import type { ConfigRule, WarningRule } from './rules/rule.ts'
import type { adminSchema } from './sections/admin.ts'
import type { listenSchema } from './sections/listen.ts'
import type { defaultsSchema } from './sections/upstream-defaults.ts'

/** A key that a feature brings, and its place among those of core. */
export type PlacedKey<Own> = Beside<keyof Own & string> & {
  readonly key: string
  readonly schema: z.ZodType
}

export type ConfigSection = PlacedKey<typeof coreSchema.shape>

export type ListenKey = PlacedKey<typeof listenSchema.shape>

/** A key of `admin` by which operators prove who they are. */
export type OperatorKey = PlacedKey<typeof adminSchema.shape> & {
  /** Lists what it opens for whom, and where the file says so. */
  scopes(admin: AdminConfig): readonly { readonly path: KeyPath; readonly scope: OperatorScope }[]
}

/** A field of requests that the gateway reads or writes itself: the key that says so, and its name. */
export interface OwnField {
  readonly path: KeyPath
  readonly name: string
  /** Whether nobody chooses its name. */
  readonly isFixed?: true
  /** What the gateway says in it. Then no edit sets it, or, unless `isRemovable`, removes it. */
  readonly says?: string
  readonly isRemovable?: true
  readonly isInResponses?: true
}

export type ListOwnFields = (tree: unknown) => readonly OwnField[]

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
export type PolicyKey = PlacedKey<typeof defaultsSchema.shape>

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
  readonly listenKeys?: readonly ListenKey[]
  readonly operatorKeys?: readonly OperatorKey[]
  readonly ownFields?: ListOwnFields
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

export const operatorKeys = (): readonly OperatorKey[] => configParts.flatMap((part) => part.operatorKeys ?? [])
