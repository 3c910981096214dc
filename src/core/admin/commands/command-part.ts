import { PartLoaders } from '../../lib/part-loaders.ts'
import type { CommandGroup } from './command.ts'

export const operatorCommandLoaders = new PartLoaders<{ readonly operatorCommands: readonly CommandGroup[] }>()
