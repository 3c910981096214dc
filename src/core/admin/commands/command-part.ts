import type { ConfigChange } from '../../config/diff/diff-values.ts'
import { PartLoaders } from '../../lib/part-loaders.ts'
import type { CommandGroup } from './command.ts'

export interface OperatorCommands {
  readonly operatorCommands?: readonly CommandGroup[]
  /** Default: the same order. */
  readonly commandsInHelp?: readonly CommandGroup[]
  readonly rollbackNote?: RollbackNote
}

/** What a rollback keeps, where it is not what it keeps as a rule. */
export interface RollbackNote {
  readonly help: string
  /** Null: as a rule. */
  readonly kept: (changes: readonly ConfigChange[]) => string | null
}

export const operatorCommandLoaders = new PartLoaders<OperatorCommands>()
