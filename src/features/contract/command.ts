import { Command } from 'commander'
import type { BuiltInCommand, BundlePart, ExplainPart } from '../../core/cli/built-in-command.ts'
import type { ClientCommandOptions } from '../../core/cli/client/admin-target.ts'
import { clientCommandHelp, createClientCommand, runClientCommand } from '../../core/cli/commands/client-commands.ts'

const reportHelp = `
A message counts once. Each violation has the place in the message, the rule, and the last message of its kind, whose request id leads to its
line in the access log. Counts start again with another contract, and when the gateway starts.
${clientCommandHelp(
  '0 printed, 2 the gateway did not respond (not reachable, token rejected, wrong usage)',
  'contract report',
  'contract report --admin https://gateway-1.internal:9901 --format json',
)}`

const groupHelp = `
Without a contract: have it learned while clients call, take the draft, edit it, name it as contract: { file: contract.yaml } in the
configuration, check both, and read in the report what breaks it. docs/contract.md has each step, and each command its own --help.

Exit code: 0 done, 1 the gateway rejects the command or has no draft, 2 the gateway did not respond, or wrong usage.

Examples:
  lender-gateway contract learn --for 1h
  lender-gateway contract draft --output config/contract.yaml
  lender-gateway contract report`

const createContractCommand = (): Command => {
  const report = createClientCommand('report', 'Show how many messages break the contract, where, and since when.')
    .addHelpText('after', reportHelp)
    .action((options: ClientCommandOptions) =>
      runClientCommand(async () => (await import('./contract-report.ts')).showContractReport(options)),
    )
  return new Command('contract')
    .description('Work with the contract that requests and responses are held to.')
    .addHelpText('after', groupHelp)
    .addCommand(report)
}

export const builtInCommands: readonly BuiltInCommand[] = [
  { after: 'diff', create: createContractCommand, isParent: true },
]

export const loadExplain = async (): Promise<ExplainPart> => ({ layerPlace })

const layerPlace: Required<ExplainPart>['layerPlace'] = (layer, { id }, { contract, compiledContract, operations }) => {
  if (layer !== 'request-contract' && layer !== 'response-contract') return undefined
  if (contract === null || contract.file === null) return null
  const { file } = contract
  const own = compiledContract?.operations[id]
  if (own === undefined) return { file, line: null, offBecause: 'the contract does not name the operation' }
  const { line, responses } = own
  const mode = operations[id].contract[layer === 'request-contract' ? 'request' : 'response']
  const hasNone = mode !== 'off' && layer === 'response-contract' && responses.length === 0
  return { file, line, offBecause: hasNone ? 'the contract has no responses of the operation' : null }
}

export const loadBundle = async (): Promise<BundlePart> => ({
  bundledReports: [{ name: 'contract.json', path: '/contract', about: 'what breaks the contract' }],
})
