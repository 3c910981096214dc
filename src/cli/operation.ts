import { Argument, type Command } from 'commander'
import { catalog } from '../catalog.ts'
import { type GatewayOptions, gatewayCommand, gatewayHelp, talking } from './gateway-command.ts'

const help = `
The file is left alone, and its word holds again when the time is over. What is to stay belongs into the file.
${gatewayHelp(
  '0 done, 1 the gateway does not accept the order, 2 it could not be asked',
  'operation refuse inventory.sync --ttl 30m',
  'operation serve inventory.sync',
)}`

/** Makes the command `operation`, the kill switch: exit 0 when it is done, 1 when the order is not accepted, 2 when the gateway could not be asked. */
export const operationCommand = (): Command =>
  gatewayCommand('operation', 'Take one of the nine out of service for a while, or put it back.')
    .addArgument(new Argument('<STATE>', 'what it is to do').choices(['refuse', 'serve']))
    .addArgument(new Argument('<ID>', 'which of the nine').choices(catalog.map(({ id }) => id)))
    .option('--ttl <DURATION>', 'for how long, at least 1s and at most 24h', '15m')
    .addHelpText('after', help)
    .action((state: 'refuse' | 'serve', id: string, { ttl, ...options }: GatewayOptions & { readonly ttl: string }) =>
      talking(async () => (await import('./gateway/operation.ts')).operation(state, id, ttl, options)),
    )
