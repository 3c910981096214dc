import { Command } from 'commander'
import type { ClientCommandOptions } from '../client/locate.ts'
import { clientCommandHelp, createClientCommand, runClientCommand } from './client-commands.ts'

const reportHelp = `
A message counts once. What breaks the contract stands with the place in the message, the rule, and the last message of its kind, whose
request id leads to its line in the access log. Counts begin anew with another contract, and when the gateway starts.
${clientCommandHelp(
  '0 printed, 2 the gateway could not be asked (not reachable, token refused, wrong usage)',
  'contract report',
  'contract report --admin https://gateway-1.internal:9901 --format json',
)}`

/** Makes the command `contract`, with its subcommands. */
export const createContractCommand = (): Command =>
  new Command('contract')
    .description('Work with the contract that requests and responses are held to.')
    .addHelpText('after', reportHelp)
    .addCommand(createReportCommand())

/** Makes the command `contract report`: exit 0 when a gateway responded, else 2. */
const createReportCommand = (): Command =>
  createClientCommand('report', 'Show how many messages break the contract, where, and since when.')
    .addHelpText('after', reportHelp)
    .action((options: ClientCommandOptions) =>
      runClientCommand(async () => (await import('./contract-report.ts')).showContractReport(options)),
    )
