import type { CommandGroup } from './command.ts'

/** Loads the commands of a feature that change what runs. */
export type LoadOperatorCommands = () => Promise<{ readonly operatorCommands: readonly CommandGroup[] }>

/** Of each feature that has some: added before `command-groups.ts` is imported. */
export const operatorCommandLoaders = new Set<LoadOperatorCommands>()
