import type { Command } from 'commander'
import type { Operation } from '../../operations.ts'
import type { Status } from '../admin/api/status.ts'
import type { Config } from '../config/config.ts'
import type { ConfigProblem, locateKey } from '../config/problem.ts'
import type { Beside } from '../lib/beside.ts'
import { PartLoaders } from '../lib/part-loaders.ts'
import type { UpstreamStatus } from '../runtime/status/upstreams.ts'
import type { ClientCommandOptions } from './client/locate.ts'
import type { TableRow } from './render/table.ts'

/** A command of a feature that changes nothing in a running gateway, and its place in the help. */
export type BuiltInCommand = Beside<'status' | 'operators' | 'diff' | 'check'> & {
  readonly create: () => Command
  /** Whether operator commands are subcommands of it. */
  readonly isParent?: true
}

/** A command that changes nothing in a running gateway, below one of another feature. */
export interface Subcommand {
  readonly parent: string
  readonly create: () => Command
}

/** Finds what a gateway with this configuration could not use from here. It takes at most 2 s, and never throws. */
export type OnlineCheck = (config: Config, locate: KeyLocator) => Promise<readonly ConfigProblem[]>

/** Finds the place of a key in the file. */
export type KeyLocator = (key: string) => ReturnType<typeof locateKey>

/** What a feature brings to the command line. */
export interface CommandPart {
  readonly builtInCommands?: readonly BuiltInCommand[]
  readonly subcommands?: readonly Subcommand[]
  /** What `check --online` tries as well. */
  readonly onlineChecks?: readonly OnlineCheck[]
  /** What `check` checks as well, when it is asked to. */
  readonly fileChecks?: readonly FileCheck[]
  /** Loads what the command line adds to operators' commands of its own. */
  readonly loadOperatorExtras?: () => Promise<{ readonly operatorExtras: readonly OperatorExtra[] }>
  /** Loads what `status` prints of it. */
  readonly loadStatusTexts?: () => Promise<StatusTexts>
}

/** A check of `check`, which an option asks for; the option may be given several times. */
export interface FileCheck {
  readonly name: string
  readonly option: string
  readonly description: string
  readonly help: string
  /** What exit code 1 says as well. */
  readonly exitCode: string
  readonly example: string
  /** What stderr says when the file has problems, so that nothing is checked. */
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

/** What the command line adds to an operators' command: what orders nothing. */
export interface OperatorExtra {
  /** The command's. */
  readonly name: string
  /** Returns what is run in place of an order; null: it is one. */
  instead(words: readonly (string | undefined)[], options: OperatorOptions): CommandRun | null
  extend(command: Command): void
}

export type OperatorOptions = ClientCommandOptions & Readonly<Record<string, string | true | undefined>>

/** Resolves to the exit code. */
export type CommandRun = () => Promise<number>

export interface StatusTexts {
  readonly texts?: readonly StatusText[]
  /** Its rows of the first table. */
  readonly facts?: readonly StatusFact[]
  readonly groupRows?: GroupRows
}

/** Lists what stands below the endpoints of a group: its label, what it is, weight, requests in flight, state. */
export type GroupRows = (group: string, upstream: UpstreamStatus, at: number) => readonly TableRow[]

/** A section that `status` prints, and its place. */
export type StatusText = Beside<'upstreams' | 'certificates'> & {
  readonly key: keyof Status
  /** Renders it as a table or a line; null: there is nothing to say. */
  render(status: Status, at: number): string | null
  /** Whether `top` shows it too. */
  readonly inTop?: true
  /** Keeps what concerns requests of an operation, for `explain --live`. */
  ofOperation?(status: Status, operation: Operation): unknown
}

export interface StatusFact {
  readonly label: string
  /** Renders it; null: there is nothing to say. */
  render(status: Status, at: number): string | null
}

/** Of each feature that has commands. */
export const commandPartLoaders = new PartLoaders<CommandPart>()
