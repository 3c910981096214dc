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
  readonly entryKeys?: readonly string[]
}

export interface IncludedFile extends PositionLookup {
  readonly file: string
  readonly issues: readonly LocatableIssue[]
  readonly problems: readonly ConfigProblem[]
}

export interface IncludedSection {
  readonly key: string
  readonly value: readonly unknown[]
  readonly files: readonly IncludedFile[]
  readonly sources: readonly SourceFile[]
  /** Paths start at the section. */
  readonly issues: readonly LocatableIssue[]
  /** `file` null: the configuration file. */
  toFilePath(path: KeyPath): { readonly file: IncludedFile | null; readonly path: KeyPath }
  validate(): { readonly issues: readonly ConfigIssue[]; readonly config: Partial<Config> }
}

/** Returns null if the section is not a list. Relative names start at `folder`. */
export type IncludeFiles = (tree: unknown, folder: string, environment: Environment) => IncludedSection | null

/** A file that is compiled into the configuration, such as a contract. */
export interface NamedFile {
  find(tree: unknown): string | undefined
  load(): Promise<ReadNamedFile>
}

export type ReadNamedFile = (
  folder: string,
  name: string,
) => {
  readonly config: Partial<Config>
  readonly issues: readonly ConfigIssue[]
  readonly problems: readonly ConfigProblem[]
  readonly warnings: readonly ConfigProblem[]
  readonly sources: readonly SourceFile[]
}

export type ListenKey = PlacedKey<typeof listenSchema.shape>

export type OperatorKey = PlacedKey<typeof adminSchema.shape> & {
  scopes(admin: AdminConfig): readonly { readonly path: KeyPath; readonly scope: OperatorScope }[]
}

/** A request field that the gateway itself reads or writes; `path` is the key that configures it. */
export interface OwnField {
  readonly path: KeyPath
  readonly name: string
  readonly isFixed?: true
  /** What the gateway's value means. No edit may set the field, or remove it unless it `isRemovable`. */
  readonly says?: string
  readonly isRemovable?: true
  readonly isInResponses?: true
}

export type ListOwnFields = (tree: unknown) => readonly OwnField[]

/** A key of single operations. Without a schema for a method, the key is unknown for operations of that method. */
export interface OperationKey {
  readonly key: string
  readonly order: number
  readonly get?: z.ZodType
  readonly post?: z.ZodType
  /** An operation that does not state the key inherits the top-level section of the same name. */
  readonly isInherited?: true
}

/** A key of `defaults` and of groups; the primary and the candidate of a group share its value. */
export type PolicyKey = PlacedKey<typeof defaultsSchema.shape>

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
  /** The feature's members of a configuration that names no other file. */
  readonly withoutFiles?: Partial<Config>
  digests?(config: Config): Digests | null
  /** Recognizes a file of another kind that was passed as a configuration. */
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
  removedFields?(config: Config, id: OperationId): readonly string[]
  dividedLimits?(loaded: WarningInput): readonly DividedLimit[]
  /** Counts the serving processes. Undefined: this feature does not decide the number. */
  countProcesses?(config: Config, cores: number): number
}

export const configPartLoaders = new PartLoaders<ConfigPart>()

/** In the order of the feature list. Filled when `config-schema.ts` is loaded. */
export const configParts: ConfigPart[] = []

export const nestedUpstreamKeys = (): readonly string[] =>
  configParts.flatMap((part) => part.upstreamKeys ?? []).flatMap(({ key, isUpstream }) => (isUpstream ? [key] : []))

export const operatorKeys = (): readonly OperatorKey[] => configParts.flatMap((part) => part.operatorKeys ?? [])
