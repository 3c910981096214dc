import { type Command, Option } from 'commander'
import type { BuiltInCommand } from '../../core/cli/built-in-command.ts'
import { clientCommandHelp, createClientCommand, runClientCommand } from '../../core/cli/commands/client-commands.ts'
import { allOperations } from '../../operations.ts'
import type { TailOptions } from './tail.ts'

const tailHelp = `
It runs until Ctrl-C, or until its output is closed, also while the gateway restarts. A line on stderr says when requests may be missing.
${clientCommandHelp(
  '0 ended by Ctrl-C, or by its reader, 2 the gateway did not respond at first',
  'tail',
  'tail --client bank-a',
  'tail --rejected --since 10m --operation market.insights --format json',
)}`

const createTailCommand = (): Command =>
  createClientCommand('tail', 'Print the requests of a running gateway as they end, with what became of them.')
    .option('--rejected', 'only rejected requests: those that get an error of the gateway’s own, with its reason')
    .option(
      '--since <DURATION>',
      'also requests that were rejected in this time before, as far as the gateway remembers',
    )
    .option('--client <NAME>', 'only of this client: its name, or its address')
    .addOption(new Option('--operation <ID>', 'only of this operation').choices(allOperations.map(({ id }) => id)))
    .addHelpText('after', tailHelp)
    .action((options: TailOptions) => runClientCommand(async () => (await import('./tail.ts')).tailRequests(options)))

export const builtInCommands: readonly BuiltInCommand[] = [{ after: 'operators', create: createTailCommand }]
