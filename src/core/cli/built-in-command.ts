import type { Command } from 'commander'

/** A command of a feature that changes nothing in a running gateway. */
export interface BuiltInCommand {
  /** Which command of core it follows in the help. Of several, the first in the list of features is the first. */
  readonly after: 'status' | 'operators' | 'diff' | 'check'
  readonly create: () => Command
  /** Whether operator commands are subcommands of it. */
  readonly isParent?: true
}

/** Loads the commands of a feature. */
export type LoadCommands = () => Promise<{ readonly builtInCommands: readonly BuiltInCommand[] }>

/** Of each feature that has commands. */
export const commandLoaders = new Set<LoadCommands>()

/** Loads the commands of all features. */
export const loadCommands = async (): Promise<readonly BuiltInCommand[]> =>
  (await Promise.all([...commandLoaders].map((load) => load()))).flatMap(({ builtInCommands }) => builtInCommands)
