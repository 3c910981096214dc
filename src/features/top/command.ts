import type { Command } from 'commander'
import type { BuiltInCommand } from '../../core/cli/built-in-command.ts'
import { clientCommandHelp, createClientCommand, runClientCommand } from '../../core/cli/commands/client-commands.ts'
import type { TopOptions } from './top.ts'

const topHelp = `
On a terminal it is redrawn each second, to the size of the window, until q or Ctrl-C. Elsewhere, with --once, or as JSON (the
response of /overview) it is printed once. NO_COLOR leaves colors out; where the locale is not UTF-8, charts are drawn in ASCII.
${clientCommandHelp('0 ended, 2 the gateway did not respond at first', 'top', 'top --once', 'top --admin https://gateway.internal:9901')}`

const createTopCommand = (): Command =>
  createClientCommand(
    'top',
    'Show how a running gateway does, live: what is wrong, the nine, every endpoint, the limits.',
  )
    .option('--once', 'print it once')
    .addHelpText('after', topHelp)
    .action((options: TopOptions) => runClientCommand(async () => (await import('./top.ts')).runTop(options)))

export const builtInCommands: readonly BuiltInCommand[] = [{ after: 'status', create: createTopCommand }]
