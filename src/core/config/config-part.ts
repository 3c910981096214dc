import type * as z from 'zod'
import type { OperationId } from '../../operations.ts'
import type { Beside } from '../lib/beside.ts'
import type { OperatorScope } from '../lib/operators.ts'
import { PartLoaders } from '../lib/part-loaders.ts'
import type {
  AdminConfig,
  Config,
  OperationConfig,
  ParsedConfig,
  ParsedDefaults,
  ParsedOperation,
  ParsedUpstream,
  UpstreamConfig,
} from './config.ts'
import type { coreSchema } from './core-schema.ts'
import type { Digests } from './diff/diff-values.ts'
import type { Environment } from './environment.ts'
import type { SourceFile } from './load/source-files.ts'
import type { ConfigIssue, ConfigProblem, KeyPath, LocatableIssue, PositionLookup } from './problem.ts'
import type { ConfigRule, DividedLimit, WarningInput, WarningRule } from './rules/rule.ts'
import type { RenderedValue } from './schema/annotations.ts'
import type { adminSchema } from './sections/admin.ts'
import type { listenSchema } from './sections/listen.ts'
import type { defaultsSchema } from './sections/upstream-defaults.ts'
import type { UpstreamKey } from './sections/upstreams.ts'

export type PlacedKey<Own> = Beside<keyof Own & string> & { readonly key: string; readonly schema: z.ZodType }

export type ConfigSection = PlacedKey<typeof coreSchema.shape> & {
  render?(config: Config): RenderedValue
  /** Keys of entries whose provenance is that of the section. */
  readonly entryKeys?: readonly string[]
}

export interface IncludedFile extends PositionLookup {
  readonly file: string
  /** Paths start at the top of this file. */
  readonly issues: readonly LocatableIssue[]
  readonly problems: readonly ConfigProblem[]
}

export interface IncludedSection {
  readonly key: string
  readonly value: readonly unknown[]
  readonly files: readonly IncludedFile[]
  readonly sources: readonly SourceFile[]
  /** Issues of references and of the entries' syntax; paths start at the section. */
  readonly issues: readonly LocatableIssue[]
  /** Maps a path in the section to a file and the path in it; null: the configuration file. */
  toFilePath(path: KeyPath): { readonly file: IncludedFile | null; readonly path: KeyPath }
  validate(): { readonly issues: readonly ConfigIssue[]; readonly config: Partial<Config> }
}

/** Returns null for a section that is not a list. Relative names start at `folder`. */
export type IncludeFiles = (tree: unknown, folder: string, environment: Environment) => IncludedSection | null

/** A file that is compiled into the configuration that names it. */
export interface NamedFile {
  find(tree: unknown): string | undefined
  /** Loads the reader: only where a file is named, and in the loading thread. */
  load(): Promise<ReadNamedFile>
}

/** A relative name starts at `folder`. */
export type ReadNamedFile = (
  folder: string,
  name: string,
) => {
  readonly config: Partial<Config>
  /** Issues of the name in the configuration. */
  readonly issues: readonly ConfigIssue[]
  readonly problems: readonly ConfigProblem[]
  readonly warnings: readonly ConfigProblem[]
  readonly sources: readonly SourceFile[]
}

export type ListenKey = PlacedKey<typeof listenSchema.shape>

export type OperatorKey = PlacedKey<typeof adminSchema.shape> & {
  scopes(admin: AdminConfig): readonly { readonly path: KeyPath; readonly scope: OperatorScope }[]
}

/** A request field that the gateway reads or writes itself; `path` is its key. */
export interface OwnField {
  readonly path: KeyPath
  readonly name: string
  readonly isFixed?: true
  /** The meaning of the gateway's value. No edit may set the field or, unless `isRemovable`, remove it. */
  readonly says?: string
  readonly isRemovable?: true
  readonly isInResponses?: true
}

export type ListOwnFields = (tree: unknown) => readonly OwnField[]

/** A key of operations, after core's. It is unknown for a method without a schema. */
export interface OperationKey {
  readonly key: string
  readonly order: number
  readonly get?: z.ZodType
  readonly post?: z.ZodType
  /** An operation that does not state it inherits the section of the same name. */
  readonly isInherited?: true
}

/** A key of `defaults` and of groups: one value for all sides of a group. */
export type PolicyKey = PlacedKey<typeof defaultsSchema.shape>

/** In `own`, the keys of features are null. */
export type ResolveUpstream = (
  stated: ParsedUpstream,
  defaults: ParsedDefaults,
  own: UpstreamConfig,
) => Partial<UpstreamConfig>

export type ResolveOperation = (stated: ParsedOperation | undefined, parsed: ParsedConfig) => Partial<OperationConfig>

export interface ConfigPart {
  readonly sections?: readonly ConfigSection[]
  readonly namedFile?: NamedFile
  loadInclude?(): Promise<IncludeFiles>
  /** Members of a configuration that names no other file. */
  readonly withoutFiles?: Partial<Config>
  digests?(config: Config): Digests | null
  /** Recognizes another kind of file in place of a configuration. */
  findMistaken?(tree: unknown): ConfigIssue | null
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
  /** Request fields, in any case, that are removed from requests of an operation. */
  removedFields?(config: Config, id: OperationId): readonly string[]
  dividedLimits?(loaded: WarningInput): readonly DividedLimit[]
  /** Counts the serving processes; left out: the feature does not decide that. */
  countProcesses?(config: Config, cores: number): number
}

export const configPartLoaders = new PartLoaders<ConfigPart>()

/** In the order of the feature list; filled once `config-schema.ts` is loaded. */
export const configParts: ConfigPart[] = []

export const nestedUpstreamKeys = (): readonly string[] =>
  configParts.flatMap((part) => part.upstreamKeys ?? []).flatMap(({ key, isUpstream }) => (isUpstream ? [key] : []))

export const operatorKeys = (): readonly OperatorKey[] => configParts.flatMap((part) => part.operatorKeys ?? [])
