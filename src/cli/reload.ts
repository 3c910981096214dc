import type { Command } from 'commander'
import { type GatewayOptions, gatewayCommand, gatewayHelp, talking } from './gateway-command.ts'

interface Options extends GatewayOptions {
  readonly force?: true
}

const help = gatewayHelp(
  '0 what the file says runs, 1 the file is refused and what ran before runs on, 2 it could not be asked',
  'reload',
  'reload --config /etc/lender-gateway/gateway.yaml',
  'reload --force',
)

/** Makes the command `reload`: exit 0 when what the file says runs, 1 when it is refused, 2 when the gateway could not be asked. */
export const reloadCommand = (): Command =>
  gatewayCommand('reload', 'Have a running gateway read its file again; tell what changed, or every problem.')
    .option('--force', 'take it although no endpoint that it brings to a group can be reached')
    .addHelpText('after', help)
    .action((options: Options) => talking(async () => (await import('./gateway/move.ts')).reload(options)))
