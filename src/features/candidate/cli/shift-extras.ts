import { Argument, type Command, Option } from 'commander'
import type { OperatorExtra } from '../../../core/cli/built-in-command.ts'
import type { ClientCommandOptions } from '../../../core/cli/client/admin-target.ts'
import { clientCommandHelp, createClientCommand, runClientCommand } from '../../../core/cli/commands/client-commands.ts'
import { groups } from '../../../operations.ts'
import { shiftArguments, shiftCommands } from '../commands/shift.ts'

const shiftReportHelp = `
Both sides' responses to each copied request are compared as candidate.shadow.compare says. Each difference has its place, its kind, and the
ids of requests to look for in the logs. Values are shown only with compare.examples: true. Counts start again with another comparison, and
when the gateway starts.
${clientCommandHelp(
  '0 printed, 1 nothing of this group is compared, 2 the gateway did not respond (not reachable, token rejected, wrong usage)',
  'shift report risk',
  'shift report risk --admin https://gateway-1.internal:9901 --format json',
)}`

const createShiftReportCommand = (): Command =>
  createClientCommand('report', 'Show how the responses of a candidate compare with those of its primary.')
    .addArgument(new Argument('<GROUP>', 'whose candidate').choices(groups))
    .addHelpText('after', shiftReportHelp)
    .action((group: string, options: ClientCommandOptions, command: Command) => {
      // Commander assigns options before `report` to the parent command `shift`.
      const { parent } = command
      const isGiven = (option: Option) => parent?.getOptionValueSource(option.attributeName()) === 'cli'
      const given = parent?.options.filter(isGiven) ?? []
      const names = command.options.map((option) => option.attributeName())
      const foreign = given.find((option) => !names.includes(option.attributeName()))
      if (foreign !== undefined) command.error(`error: shift report has no option '${foreign.flags}'`)
      const values = given.map((option) => [option.attributeName(), parent?.getOptionValue(option.attributeName())])
      const all: ClientCommandOptions = { ...options, ...Object.fromEntries(values) }
      return runClientCommand(async () => (await import('./shift-report.ts')).showShiftReport(group, all))
    })

const shiftOptions = Object.entries(shiftArguments).flatMap(([name, { usage }]) =>
  usage.startsWith('-') ? [name] : [],
)

export const operatorExtras: readonly OperatorExtra[] = [
  {
    name: shiftCommands.name,
    instead(words, options) {
      const isCommand = shiftOptions.some((option) => options[option] !== undefined)
      const group = groups.find((each) => each === words[0])
      if (group === undefined || isCommand) return null
      if (options.promote === undefined) return async () => (await import('./shift.ts')).showShift(group, options)
      return async () => (await import('./shift.ts')).showPromotion(group, options)
    },
    extend(command) {
      const promote = new Option('--promote', 'print the file with the candidate as the upstream; it stays as it is')
      command.addOption(promote.conflicts(shiftOptions)).addCommand(createShiftReportCommand())
    },
  },
]
