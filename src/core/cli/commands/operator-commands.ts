import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { shiftArguments, shiftCommands } from '../../../features/candidate/commands/shift.ts'
import { groups } from '../../../operations.ts'
import { isAdminError } from '../../admin/admin-error.ts'
import { type Argument as GatewayArgument, parseArguments, usageName } from '../../admin/commands/argument.ts'
import type { CommandGroup } from '../../admin/commands/command.ts'
import { commandGroupsInHelp } from '../../admin/commands/command-groups.ts'
import type { BuiltInCommand } from '../built-in-command.ts'
import type { ClientCommandOptions } from '../client/locate.ts'
import { createCommandLine } from '../command-line.ts'
import { clientCommandHelp, createClientCommand, runClientCommand } from './client-commands.ts'

/**
 * Builds the whole command line. An operator command exits with 0 when it is done, 1 when the gateway rejects it,
 * 2 when the gateway could not be asked.
 */
export const createFullCommandLine = (features: readonly BuiltInCommand[]): Command =>
  createCommandLine(
    features,
    commandGroupsInHelp.map((group) => ({
      parent: group.parent ?? null,
      command: group === shiftCommands ? createShiftCommand() : createOperatorCommand(group),
    })),
  )

/**
 * Adds to `shift` what orders nothing: to show how it stands, to print the edit of the file that ends it, and `report`.
 */
const createShiftCommand = (): Command =>
  createOperatorCommand(shiftCommands, (words, options) => {
    const isOrder = shiftOrders.some((order) => options[order] !== undefined)
    const group = groups.find((each) => each === words[0])
    if (group === undefined || isOrder) return null
    if (options.promote === undefined)
      return async () => (await import('../../../features/candidate/cli/shift.ts')).showShift(group, options)
    return async () => (await import('../../../features/candidate/cli/shift-promote.ts')).showPromotion(group, options)
  })
    .addOption(
      new Option('--promote', 'print the file with the candidate as the upstream; it stays as it is').conflicts(
        shiftOrders,
      ),
    )
    .addCommand(createShiftReportCommand())

const shiftReportHelp = `
Of each copy the answers of both sides are compared as candidate.shadow.compare says. What differs stands with its place, its kind, and the
requests to look for in the logs. Values are shown only with compare.examples: true. Counts begin anew with another comparison, and when the
gateway starts.
${clientCommandHelp(
  '0 printed, 1 nothing of this group is compared, 2 the gateway could not be asked (not reachable, token refused, wrong usage)',
  'shift report risk',
  'shift report risk --admin https://gateway-1.internal:9901 --format json',
)}`

/** Makes the command `shift report`: exit 0 with a report, 1 when nothing is compared, 2 when no gateway responded. */
const createShiftReportCommand = (): Command =>
  createClientCommand('report', 'Show how the answers of a candidate compare with those of its primary.')
    .addArgument(new Argument('<GROUP>', 'whose candidate').choices(groups))
    .addHelpText('after', shiftReportHelp)
    .action((group: string, options: ClientCommandOptions, command: Command) => {
      // What stands in front of `report` is an option of `shift`.
      const { parent } = command
      const given = (parent?.options ?? []).filter(
        (option) => parent?.getOptionValueSource(option.attributeName()) === 'cli',
      )
      const names = command.options.map((option) => option.attributeName())
      const foreign = given.find((option) => !names.includes(option.attributeName()))
      if (foreign !== undefined) command.error(`error: option '${foreign.flags}' is none of shift report`)
      const values = given.map((option) => [option.attributeName(), parent?.getOptionValue(option.attributeName())])
      const all: ClientCommandOptions = { ...options, ...Object.fromEntries(values) }
      return runClientCommand(async () =>
        (await import('../../../features/candidate/cli/shift-report.ts')).showShiftReport(group, all),
      )
    })

const shiftOrders = Object.entries(shiftArguments).flatMap(([name, { usage }]) => (usage.startsWith('-') ? [name] : []))

/** Makes the check of an option's value, in the words of the command line. The gateway parses it. */
const checkedBy =
  ({ read, expected }: GatewayArgument) =>
  (value: string): string => {
    if (read(value) === undefined) throw new InvalidArgumentError(`Expected ${expected}.`)
    return value
  }

type OperatorOptions = ClientCommandOptions & Readonly<Record<string, string | true | undefined>>

type CommandRun = () => Promise<number>

/** `instead`: what is run in place of a command of the gateway; null: nothing is. */
const createOperatorCommand = (
  group: CommandGroup,
  instead: (words: readonly (string | undefined)[], options: OperatorOptions) => CommandRun | null = () => null,
): Command => {
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
  return command.action(() => {
    const words: readonly (string | undefined)[] = command.processedArgs
    const chosen = commands.find((each) => choice === null || each.choice === words[0])
    if (chosen === undefined) return
    const options = command.opts<OperatorOptions>()
    const own = instead(words, options)
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
