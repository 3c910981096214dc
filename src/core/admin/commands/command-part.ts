import type { ConfigChange } from '../../config/diff/diff-values.ts'
import { PartLoaders } from '../../lib/part-loaders.ts'
import type { CommandGroup } from './command.ts'

export interface OperatorCommands {
  readonly operatorCommands?: readonly CommandGroup[]
  readonly commandsInHelp?: readonly CommandGroup[]
  readonly rollbackNote?: RollbackNote
}

/** Replaces the standard sentence about what a rollback leaves unchanged. */
export interface RollbackNote {
  readonly help: string
  /** Null: the standard sentence. */
  readonly kept: (changes: readonly ConfigChange[]) => string | null
}

export const operatorCommandLoaders = new PartLoaders<OperatorCommands>()
