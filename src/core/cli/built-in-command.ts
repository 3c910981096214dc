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

/** Finds resources of the configuration that this machine cannot use, within 2 s. Never throws. */
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

export type NameKey = (key: string) => string

export type SettingRows = readonly (readonly [key: string, value: string])[]

/** `bucket`: 0 to 9,999; null: the side does not depend on a bucket. */
export type ExplainedSide = Readonly<{ side: Side; why: string; bucket: number | null }>

export type ExplainedClient = Readonly<{ client: string; isNamed: boolean }>

/** Where a feature's own file has the entry of an operation, for one of its layers. */
export interface LayerPlace {
  readonly file: string
  readonly line: number | null
  /** Why the layer does nothing although its setting is on. */
  readonly offBecause: string | null
}

export interface ExplainPart {
  readonly settings?: readonly (Beside<'tls' | 'trustedProxies' | 'requestId'> & {
    rows(config: Config, rowsUnder: (...keys: readonly string[]) => SettingRows): SettingRows
  })[]
  readonly wholeLayers?: readonly LayerRow['name'][]
  /** Sections whose findings concern no request. */
  readonly aside?: readonly string[]
  /** Undefined: another feature's layer. Null: no such file is configured. */
  readonly layerPlace?: (layer: LayerRow['name'], operation: Operation, config: Config) => LayerPlace | null | undefined
  /** Why a client with valid credentials is rejected. */
  readonly rejectClient?: (
    ...request: ExplainedRequest<string>
  ) => { readonly why: string; readonly hint: string } | null
  /** As the file says. Null: the group has one side. */
  readonly findSide?: (...request: ExplainedRequest<ExplainedClient>) => ExplainedSide | null
  /** As the running gateway's status says. `at`: the gateway's clock. Null: unknown. */
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

/** A check that `check` runs when its option is given. */
export interface FileCheck {
  readonly name: string
  readonly option: string
  readonly description: string
  readonly help: string
  readonly exitCode: string
  readonly example: string
  /** Printed when the check was skipped, because the file has problems. */
  readonly notRun: string
  run(values: readonly string[], config: Config, file: string): Promise<FileCheckResult>
}

export interface FileCheckResult {
  readonly ok: boolean
  readonly unreadable: boolean
  readonly problems: readonly ConfigProblem[]
  readonly json: object
  readonly text: string
}

/** Adds a mode that changes nothing to an operator command. */
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
