import { usageName } from './argument.ts'
import type { CommandGroup } from './command.ts'
import { operatorCommandLoaders } from './command-part.ts'
import { reloadCommands } from './reload.ts'
import { rollbackCommands } from './rollback.ts'

const ofFeatures = await operatorCommandLoaders.load()

/** In the order of the admin listener's paths. */
export const commandGroups: readonly CommandGroup[] = [
  reloadCommands,
  rollbackCommands,
  ...ofFeatures.flatMap(({ operatorCommands = [] }) => operatorCommands),
]

export const commandGroupsInHelp: readonly CommandGroup[] = [
  reloadCommands,
  rollbackCommands,
  ...ofFeatures.flatMap(({ operatorCommands = [], commandsInHelp = operatorCommands }) => commandsInHelp),
]

/** Tells whether a shell line holds a command that changes the running gateway. */
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
