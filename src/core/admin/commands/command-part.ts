import { PartLoaders } from '../../lib/part-loaders.ts'
import type { CommandGroup } from './command.ts'

/** Of each feature that has commands which change what runs. */
export const operatorCommandLoaders = new PartLoaders<{ readonly operatorCommands: readonly CommandGroup[] }>()
