import { Command } from 'commander'
import type { BuiltInCommand } from '../../core/cli/built-in-command.ts'
import type { ClientCommandOptions } from '../../core/cli/client/locate.ts'
import { clientCommandHelp, createClientCommand, runClientCommand } from '../../core/cli/commands/client-commands.ts'
import { createFormatOption } from '../../core/cli/options.ts'
import type { DraftOptions } from '../contract-learning/contract-draft.ts'

const reportHelp = `
A message counts once. What breaks the contract stands with the place in the message, the rule, and the last message of its kind, whose
request id leads to its line in the access log. Counts begin anew with another contract, and when the gateway starts.
${clientCommandHelp(
  '0 printed, 2 the gateway could not be asked (not reachable, token refused, wrong usage)',
  'contract report',
  'contract report --admin https://gateway-1.internal:9901 --format json',
)}`

const groupHelp = `
From nothing: have it learnt while clients call, take the draft, edit it, name it as contract: { file: contract.yaml } in the configuration,
check both, and see in the report what breaks it. docs/contract.md has each step, and each command its own --help.

Exit code: 0 done, 1 the gateway does not accept it or has no draft, 2 it could not be asked, or wrong usage.

Examples:
  lender-gateway contract learn --for 1h
  lender-gateway contract draft --output config/contract.yaml
  lender-gateway contract report`

/** Makes the command `contract`, with its subcommands. */
const createContractCommand = (): Command =>
  new Command('contract')
    .description('Work with the contract that requests and responses are held to.')
    .addHelpText('after', groupHelp)
    .addCommand(createReportCommand())
    .addCommand(createDraftCommand())

/** Makes the command `contract report`: exit 0 when a gateway responded, else 2. */
const createReportCommand = (): Command =>
  createClientCommand('report', 'Show how many messages break the contract, where, and since when.')
    .addHelpText('after', reportHelp)
    .action((options: ClientCommandOptions) =>
      runClientCommand(async () => (await import('./contract-report.ts')).showContractReport(options)),
    )

const draftHelp = `
It is an OpenAPI document of what passed while the gateway learnt, ready to be edited, and to be used as contract.file. x-seen says how
often each thing was seen, x-gap what is still open. With --output, a file is written whole, or nothing is.
${clientCommandHelp(
  '0 printed or written, 1 nothing was learnt or a worker does not answer, 2 the gateway could not be asked, or FILE not written',
  'contract draft --output config/contract.yaml',
  'contract draft --admin https://gateway-1.internal:9901 --format json',
)}`

/** Makes the command `contract draft`: exit 0 with a draft, 1 when there is none, 2 when no gateway responded. */
const createDraftCommand = (): Command =>
  createClientCommand('draft', 'Print the contract as it was learnt from what passed.', createFormatOption('yaml'))
    .option('--output <FILE>', 'write it to a new file; - is stdout (default)')
    .option('--force', 'overwrite it')
    .addHelpText('after', draftHelp)
    .action((options: DraftOptions) =>
      runClientCommand(async () => (await import('../contract-learning/contract-draft.ts')).showContractDraft(options)),
    )

export const builtInCommands: readonly BuiltInCommand[] = [
  { after: 'diff', create: createContractCommand, isParent: true },
]

export const loadStatusTexts = () => import('./status-text.ts')
