import type * as z from 'zod'
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

/** A key that a feature brings, and its place among those of core. */
export type PlacedKey<Own> = Beside<keyof Own & string> & {
  readonly key: string
  readonly schema: z.ZodType
}

export type ConfigSection = PlacedKey<typeof coreSchema.shape> & {
  /** Renders it in place of its schema. */
  render?(config: Config): RenderedValue
  /** Keys of its entries whose place is that of the section. */
  readonly entryKeys?: readonly string[]
}

/** A file that a section includes. */
export interface IncludedFile extends PositionLookup {
  /** The path, as problems name it. */
  readonly file: string
  /** The issues of its syntax; their paths start in this file. */
  readonly issues: readonly LocatableIssue[]
  /** The problems of the file as a whole. */
  readonly problems: readonly ConfigProblem[]
}

/** A section with what stands in the files that it includes. */
export interface IncludedSection {
  readonly key: string
  /** All entries, valid or not. */
  readonly value: readonly unknown[]
  readonly files: readonly IncludedFile[]
  /** The files, whether they could be read or not. */
  readonly sources: readonly SourceFile[]
  /** The issues of references, and of the syntax of entries in their files; paths start at the section. */
  readonly issues: readonly LocatableIssue[]
  /** Maps a path in the whole section to a file and the path in it; null: the configuration file. */
  toFilePath(path: KeyPath): { readonly file: IncludedFile | null; readonly path: KeyPath }
  validate(): { readonly issues: readonly ConfigIssue[]; readonly config: Partial<Config> }
}

/** Reads what a section includes; null: it is no list. Relative names start at `folder`. */
export type IncludeFiles = (tree: unknown, folder: string, environment: Environment) => IncludedSection | null

/** A file that the configuration names, and that is compiled into it. */
export interface NamedFile {
  /** Returns its name; undefined: the configuration names none. */
  find(tree: unknown): string | undefined
  /** Loads what reads it: only where a file is named, in the thread beside the one that serves. */
  load(): Promise<ReadNamedFile>
}

/** Reads it. A relative name starts at `folder`. */
export type ReadNamedFile = (
  folder: string,
  name: string,
) => {
  readonly config: Partial<Config>
  /** The issues of its name in the configuration. */
  readonly issues: readonly ConfigIssue[]
  readonly problems: readonly ConfigProblem[]
  readonly warnings: readonly ConfigProblem[]
  /** The files, whether they could be read or not. */
  readonly sources: readonly SourceFile[]
}

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
  readonly namedFile?: NamedFile
  loadInclude?(): Promise<IncludeFiles>
  /** What a configuration has where it names no other file. */
  readonly withoutFiles?: Partial<Config>
  /** The digests of what stands in other files, by key path. */
  digests?(config: Config): Digests | null
  /** Finds that the file is no configuration, but something else that the feature knows. */
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
  /** Lists its limits that are divided among processes. */
  dividedLimits?(loaded: WarningInput): readonly DividedLimit[]
  /** Counts the processes that serve clients. Left out: it does not decide that. */
  countProcesses?(config: Config, cores: number): number
}

/** Of each feature that has keys in the file. */
export const configPartLoaders = new PartLoaders<ConfigPart>()

/** What all features bring, in the order of their list: there once `config-schema.ts` is loaded. */
export const configParts: ConfigPart[] = []

/** Lists the keys of a group whose value is an upstream too. */
export const nestedUpstreamKeys = (): readonly string[] =>
  configParts.flatMap((part) => part.upstreamKeys ?? []).flatMap(({ key, isUpstream }) => (isUpstream ? [key] : []))

export const operatorKeys = (): readonly OperatorKey[] => configParts.flatMap((part) => part.operatorKeys ?? [])
