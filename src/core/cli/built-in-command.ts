import type { Command } from 'commander'
import type { Operation, Side } from '../../operations.ts'
import type { Config } from '../config/config.ts'
import type { LoadedConfig } from '../config/load/load.ts'
import type { ConfigProblem, locateKey } from '../config/problem.ts'
import type { Beside } from '../lib/beside.ts'
import { PartLoaders } from '../lib/part-loaders.ts'
import type { LayerRow } from '../runtime/pipeline/layer-stack.ts'
import type { UpstreamStatus } from '../runtime/status/upstreams.ts'
import type { ClientCommandOptions } from './client/admin-target.ts'

/** A command that changes nothing in a running gateway. */
export type BuiltInCommand = Beside<'status' | 'operators' | 'diff' | 'check'> & {
  readonly create: () => Command
  /** Whether it has operator commands as subcommands. */
  readonly isParent?: true
}

export type Subcommand = Readonly<{ parent: string; create: () => Command }>

/** Finds what a gateway with this configuration could not use from this machine, within 2 s. Never throws. */
export type OnlineCheck = (config: Config, locate: KeyLocator) => Promise<readonly ConfigProblem[]>

export type KeyLocator = (key: string) => ReturnType<typeof locateKey>

export interface CommandPart {
  readonly builtInCommands?: readonly BuiltInCommand[]
  readonly subcommands?: readonly Subcommand[]
  readonly onlineChecks?: readonly OnlineCheck[]
  readonly loadOperatorExtras?: () => Promise<{ readonly operatorExtras: readonly OperatorExtra[] }>
  readonly loadExplain?: () => Promise<ExplainPart>
  readonly loadBundle?: () => Promise<BundlePart>
}

/** Names a key, with the line of the file that states it. */
export type NameKey = (key: string) => string

export type SettingRows = readonly (readonly [key: string, value: string])[]

/** `bucket`: from 0 to 9,999; null: the side does not depend on a bucket. */
export type ExplainedSide = Readonly<{ side: Side; why: string; bucket: number | null }>

export type ExplainedClient = Readonly<{ client: string; isNamed: boolean }>

/** The entry of an operation in a feature's own file, for one of its layers. */
export interface LayerPlace {
  /** As the configuration has it. */
  readonly file: string
  readonly line: number | null
  /** Why the layer does nothing, whatever its setting is. */
  readonly offBecause: string | null
}

export interface ExplainPart {
  /** Rows that hold for all nine operations. */
  readonly settings?: readonly (Beside<'tls' | 'trustedProxies' | 'requestId'> & {
    rows(config: Config, rowsUnder: (...keys: readonly string[]) => SettingRows): SettingRows
  })[]
  readonly wholeLayers?: readonly LayerRow['name'][]
  /** Sections whose findings concern no request. */
  readonly aside?: readonly string[]
  /** Undefined: not the feature's layer. Null: no such file is configured. */
  readonly layerPlace?: (layer: LayerRow['name'], operation: Operation, config: Config) => LayerPlace | null | undefined
  /** Why a client with valid credentials is rejected. */
  readonly rejectClient?: (
    ...request: ExplainedRequest<string>
  ) => { readonly why: string; readonly hint: string } | null
  /** By the file. Null: the group has one side. */
  readonly findSide?: (...request: ExplainedRequest<ExplainedClient>) => ExplainedSide | null
  /** By the running gateway's status. `at`: the gateway's clock. Null: unknown. */
  readonly findSideNow?: (
    ...request: [...ExplainedRequest<ExplainedClient>, now: { readonly upstream: UpstreamStatus; readonly at: number }]
  ) => ExplainedSide | null
}

type ExplainedRequest<Client> = [client: Client, operation: Operation, config: Config, nameKey: NameKey]

export interface BundlePart {
  readonly bundledReports?: readonly { readonly name: string; readonly path: string; readonly about: string }[]
  readonly ofFile?: {
    readonly name: string
    readonly about: string
    render(file: string, loaded: LoadedConfig): string
  }
  /** Removes clients' data from a report of the listener. */
  readonly withoutClientData?: (body: unknown) => unknown
}

/** An optional check of `check`; its option may be given several times. */
export interface FileCheck {
  readonly name: string
  readonly option: string
  readonly description: string
  readonly help: string
  /** Appended to the help of exit code 1. */
  readonly exitCode: string
  readonly example: string
  /** Printed on stderr when the file has problems, so the check was skipped. */
  readonly notRun: string
  run(values: readonly string[], config: Config, file: string): Promise<FileCheckResult>
}

export interface FileCheckResult {
  readonly ok: boolean
  /** Whether a file that it needs cannot be read. */
  readonly unreadable: boolean
  readonly problems: readonly ConfigProblem[]
  readonly json: object
  readonly text: string
}

/** Adds to an operator command a mode that changes nothing. */
export interface OperatorExtra {
  readonly name: string
  /** Null: the command itself runs. */
  instead(words: readonly (string | undefined)[], options: OperatorOptions): CommandRun | null
  extend(command: Command): void
}

export type OperatorOptions = ClientCommandOptions & Readonly<Record<string, string | true | undefined>>

export type CommandRun = () => Promise<number>

export const commandPartLoaders = new PartLoaders<CommandPart>()

export const fileCheckLoaders = new PartLoaders<{ readonly fileChecks: readonly FileCheck[] }>()

export const loadFileChecks = async (): Promise<readonly FileCheck[]> =>
  (await fileCheckLoaders.load()).flatMap(({ fileChecks }) => fileChecks)
