import type { Command } from 'commander'
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
}

export type LoadCommands = () => Promise<CommandPart>

/** Of each feature that has commands. */
export const commandLoaders = new Set<LoadCommands>()

/** Loads the commands of all features. */
export const loadCommands = async (): Promise<readonly BuiltInCommand[]> =>
  (await loadCommandParts()).flatMap(({ builtInCommands = [] }) => builtInCommands)

export const loadCommandParts = (): Promise<readonly CommandPart[]> =>
  Promise.all([...commandLoaders].map((load) => load()))
