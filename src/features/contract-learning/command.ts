import type { Command } from 'commander'
import type { Subcommand } from '../../core/cli/built-in-command.ts'
import { clientCommandHelp, createClientCommand, runClientCommand } from '../../core/cli/commands/client-commands.ts'
import { createFormatOption } from '../../core/cli/options.ts'
import type { DraftOptions } from './cli.ts'

const draftHelp = `
It is an OpenAPI document of the messages that passed while the gateway learned, to be edited and used as contract.file. x-seen says how
often each part was seen, x-gap what is still open. With --output, the file is written whole, or not at all.
${clientCommandHelp(
  '0 printed or written, 1 nothing was learned or a worker does not reply, 2 the gateway did not respond, or FILE not written',
  'contract draft --output config/contract.yaml',
  'contract draft --admin https://gateway-1.internal:9901 --format json',
)}`

const createDraftCommand = (): Command =>
  createClientCommand('draft', 'Print the contract that was learned from traffic.', createFormatOption('yaml'))
    .option('--output <FILE>', 'write it to a new file; - is stdout (default)')
    .option('--force', 'overwrite it')
    .addHelpText('after', draftHelp)
    .action((options: DraftOptions) =>
      runClientCommand(async () => (await import('./cli.ts')).showContractDraft(options)),
    )

export const subcommands: readonly Subcommand[] = [{ parent: 'contract', create: createDraftCommand }]

export const loadReportText = () => import('./status-text.ts')
