import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { isAdminError } from '../../admin/admin-error.ts'
import { type Argument as GatewayArgument, parseArguments, usageName } from '../../admin/commands/argument.ts'
import type { CommandGroup } from '../../admin/commands/command.ts'
import { commandGroupsInHelp } from '../../admin/commands/command-groups.ts'
import { commandPartLoaders, loadFileChecks, type OperatorOptions } from '../built-in-command.ts'
import { createCommandLine } from '../command-line.ts'
import { clientCommandHelp, createClientCommand, runClientCommand } from './client-commands.ts'

const [parts, fileChecks] = await Promise.all([commandPartLoaders.load(), loadFileChecks()])
const loaded = await Promise.all(parts.map(({ loadOperatorExtras }) => loadOperatorExtras?.()))
const extras = loaded.flatMap((each) => each?.operatorExtras ?? [])

export const createFullCommandLine = (): Command =>
  createCommandLine({
    features: parts,
    fileChecks,
    operatorCommands: commandGroupsInHelp.map((group) => ({
      parent: group.parent ?? null,
      command: createOperatorCommand(group),
    })),
  })

/** For the command line's error text. The gateway parses the value. */
const checkedBy =
  ({ read, expected }: GatewayArgument) =>
  (value: string): string => {
    if (read(value) === undefined) throw new InvalidArgumentError(`Expected ${expected}.`)
    return value
  }

const createOperatorCommand = (group: CommandGroup): Command => {
  const extra = extras.find((each) => each.name === group.name)
  const { name, description, choice, help, exitCodes, examples, commands } = group
  const args = Object.fromEntries(Object.entries(group.args).filter(([, { only }]) => only !== 'form'))
  const command = createClientCommand(name, description)
  if (choice !== null)
    command.addArgument(new Argument(choice.usage, choice.help).choices(commands.map((each) => each.choice)))
  const isOption = (usage: string): boolean => usage.startsWith('-')
  for (const argument of Object.values(args)) {
    const { usage, help, choices, isRequired, default: defaultValue } = argument
    if (isOption(usage)) {
      const option = new Option(usage, help).default(defaultValue).makeOptionMandatory(isRequired ?? false)
      command.addOption(choices ? option.choices(choices) : option.argParser(checkedBy(argument)))
    } else command.addArgument(choices ? new Argument(usage, help).choices(choices) : new Argument(usage, help))
  }
  command.addHelpText('after', `${help === null ? '' : `\n${help}`}${clientCommandHelp(exitCodes, ...examples)}`)
  extra?.extend(command)
  return command.action(() => {
    const words: readonly (string | undefined)[] = command.processedArgs
    const chosen = commands.find((each) => choice === null || each.choice === words[0])
    if (chosen === undefined) return
    const options = command.opts<OperatorOptions>()
    const own = extra?.instead(words, options) ?? null
    if (own !== null) return runClientCommand(own)
    const positional = (choice === null ? words : words.slice(1)).values()
    const commandArguments = Object.entries(args).flatMap(([key, { usage }]) => {
      const value = isOption(usage) ? options[key] : positional.next().value
      return value === undefined ? [] : [[key, value] as const]
    })
    const values = parseArguments(args, Object.fromEntries(commandArguments))
    const mistake = isAdminError(values)
      ? null
      : chosen.validate?.(values, (key) => usageName(args[key] ?? { usage: key }))
    if (mistake != null) command.error(`error: ${mistake}`)
    return runClientCommand(async () =>
      (await import('../client/send-command.ts')).sendCommand(chosen, commandArguments, options),
    )
  })
}
