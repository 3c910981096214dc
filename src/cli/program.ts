import { Argument, type Command, Option } from 'commander'
import type { CommandGroup } from '../admin/commands/command.ts'
import { groupsInHelp } from '../admin/commands/commands.ts'
import { commandLine } from './command-line.ts'
import type { AskOptions } from './gateway/find.ts'
import { gatewayCommand, gatewayHelp, talking } from './gateway-commands.ts'

/**
 * Builds the whole command line. A command of operators exits with 0 when it is done, 1 when the gateway refuses,
 * 2 when it could not be asked.
 */
export const program = (): Command => commandLine(groupsInHelp.map(commandOf))

const commandOf = (group: CommandGroup): Command => {
  const { name, description, choice, args, help, exitCodes, examples, commands } = group
  const command = gatewayCommand(name, description)
  if (choice !== null)
    command.addArgument(new Argument(choice.usage, choice.help).choices(commands.map((each) => each.choice)))
  const isOption = (usage: string): boolean => usage.startsWith('-')
  for (const { usage, help, choices, default: otherwise } of Object.values(args)) {
    if (isOption(usage)) command.addOption(new Option(usage, help).default(otherwise))
    else command.addArgument(choices ? new Argument(usage, help).choices(choices) : new Argument(usage, help))
  }
  command.addHelpText('after', `${help === null ? '' : `\n${help}`}${gatewayHelp(exitCodes, ...examples)}`)
  return command.action(() => {
    const words: readonly (string | undefined)[] = command.processedArgs
    const chosen = commands.find((each) => choice === null || each.choice === words[0])
    if (chosen === undefined) return
    const options = command.opts<AskOptions & Readonly<Record<string, string | true | undefined>>>()
    const positional = (choice === null ? words : words.slice(1)).values()
    const given = Object.entries(args).flatMap(([key, { usage }]) => {
      const value = isOption(usage) ? options[key] : positional.next().value
      return value === undefined ? [] : [[key, value] as const]
    })
    return talking(async () => (await import('./gateway/command.ts')).give(chosen, given, options))
  })
}
