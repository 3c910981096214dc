import { usageName } from './argument.ts'
import type { CommandGroup } from './command.ts'
import { operatorCommandLoaders } from './command-part.ts'
import { endpointCommands } from './drain-endpoint.ts'
import { reloadCommands } from './reload.ts'
import { rollbackCommands } from './rollback.ts'
import { operationCommands } from './set-operation-state.ts'

const ofFeatures = await operatorCommandLoaders.load()

/** All commands of operators, in the order in which the admin listener lists its paths. */
export const commandGroups: readonly CommandGroup[] = [
  reloadCommands,
  rollbackCommands,
  endpointCommands,
  operationCommands,
  ...ofFeatures.flatMap(({ operatorCommands }) => operatorCommands),
]

/** The same in the order of the help, where the kill switch stands before the commands about one endpoint. */
export const commandGroupsInHelp: readonly CommandGroup[] = commandGroups
  .filter((group) => group !== endpointCommands)
  .flatMap((group) => (group === operationCommands ? [operationCommands, endpointCommands] : [group]))

/** Tells whether a line of a shell gives an order: it changes what runs, unlike a command that only shows more. */
export const isMutatingCommand = (line: string): boolean => {
  const words = line.split(' ')
  return commandGroups.some(({ parent, name, choice, args, commands, showsWithoutOption }) => {
    if (showsWithoutOption && !Object.values(args).some((each) => words.includes(usageName(each)))) return false
    return commands.some((command) => {
      const own = [parent, name, choice && command.choice].filter((word) => word != null)
      return !command.onlyShows && words.some((_, at) => own.every((word, i) => words[at + i] === word))
    })
  })
}
