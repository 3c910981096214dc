import { PartLoaders } from '../../lib/part-loaders.ts'
import type { CommandGroup } from './command.ts'

export interface OperatorCommands {
  readonly operatorCommands: readonly CommandGroup[]
  /** Default: the same order. */
  readonly commandsInHelp?: readonly CommandGroup[]
}

export const operatorCommandLoaders = new PartLoaders<OperatorCommands>()
