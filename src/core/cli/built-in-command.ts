import type { Command } from 'commander'
import type { Operation } from '../../operations.ts'
import type { Status } from '../admin/api/status.ts'
import type { Config } from '../config/config.ts'
import type { ConfigProblem, locateKey } from '../config/problem.ts'
import type { Beside } from '../lib/beside.ts'

/** A command of a feature that changes nothing in a running gateway, and its place in the help. */
export type BuiltInCommand = Beside<'status' | 'operators' | 'diff' | 'check'> & {
  readonly create: () => Command
  /** Whether operator commands are subcommands of it. */
  readonly isParent?: true
}

/** Finds what a gateway with this configuration could not use from here. It takes at most 2 s, and never throws. */
export type OnlineCheck = (config: Config, locate: KeyLocator) => Promise<readonly ConfigProblem[]>

/** Finds the place of a key in the file. */
export type KeyLocator = (key: string) => ReturnType<typeof locateKey>

/** What a feature brings to the command line. */
export interface CommandPart {
  readonly builtInCommands?: readonly BuiltInCommand[]
  /** What `check --online` tries as well. */
  readonly onlineChecks?: readonly OnlineCheck[]
  /** Loads what `status` prints of it. */
  readonly loadStatusTexts?: () => Promise<StatusTexts>
}

export interface StatusTexts {
  readonly texts?: readonly StatusText[]
  /** Its rows of the first table. */
  readonly facts?: readonly StatusFact[]
}

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

export type LoadCommands = () => Promise<CommandPart>

/** Of each feature that has commands. */
export const commandLoaders = new Set<LoadCommands>()

/** Loads the commands of all features. */
export const loadCommands = async (): Promise<readonly BuiltInCommand[]> =>
  (await loadCommandParts()).flatMap(({ builtInCommands = [] }) => builtInCommands)

export const loadCommandParts = (): Promise<readonly CommandPart[]> =>
  Promise.all([...commandLoaders].map((load) => load()))
