import { Command } from 'commander'
import type { BuiltInCommand } from '../../core/cli/built-in-command.ts'
import { createFormatOption, defaultConfigFile } from '../../core/cli/options.ts'
import type { ExplainOptions } from './show-explanation.ts'

const help = `
It reads the file as start-up or a reload would. It looks at the method, the target and --client alone, not at header fields or a body.
It asks no gateway without --live, which adds the present state, such as an operation that an operator rejects for a while.

Exit code: 0 it would be forwarded, 1 it would be rejected, or the file has problems, 2 the file cannot be read, --live: or the gateway could
not be asked, or wrong usage.

Examples:
  lender-gateway explain GET '/market/insights?region=eu'
  lender-gateway explain POST /valuation/score --config config/gateway.yaml --format json
  lender-gateway explain POST /risk/asset-valuation --live
  lender-gateway explain POST /risk/asset-valuation --client bank-a`

const createExplainCommand = (): Command =>
  new Command('explain')
    .description(
      'Tell what becomes of a request, offline: where it goes and which line of the file says so, or why it is rejected.',
    )
    .argument('<METHOD>', 'the method, in upper case')
    .argument(
      '<TARGET>',
      'the request target as a client sends it: a path with or without a query, or a whole http:// URL',
    )
    .option('--config <FILE>', 'the configuration file', defaultConfigFile)
    .option(
      '--client <NAME>',
      'also tell whether this client may call it, and on which side of the group it is: its name, or its address',
    )
    .option('--live', 'also ask the gateway for the present state')
    .option('--admin <URL>', 'with --live: the admin listener, in place of what the file says')
    .addOption(createFormatOption())
    .addHelpText('after', help)
    .action(async (method: string, target: string, options: ExplainOptions) =>
      (await import('./show-explanation.ts')).showExplanation(method, target, options),
    )

export const builtInCommands: readonly BuiltInCommand[] = [{ after: 'check', create: createExplainCommand }]

export const loadBundle = () => import('./show-explanation.ts')
