import type { Command } from 'commander'
import { type GatewayOptions, gatewayCommand, gatewayHelp, talking } from './gateway-command.ts'

const help = `
The file is left alone. It is taken again when its content changes, on SIGHUP and by reload.
${gatewayHelp(
  '0 the configuration before runs again, 1 there is none or it cannot be put into effect, 2 it could not be asked',
  'rollback',
  'rollback --format json',
)}`

/** Makes the command `rollback`: exit 0 when the configuration before runs again, 1 when it does not, 2 when the gateway could not be asked. */
export const rollbackCommand = (): Command =>
  gatewayCommand('rollback', 'Have a running gateway go back to the configuration that it ran before.')
    .addHelpText('after', help)
    .action((options: GatewayOptions) => talking(async () => (await import('./gateway/move.ts')).rollback(options)))
