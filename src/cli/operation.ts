import { Argument, type Command } from 'commander'
import { catalog } from '../catalog.ts'
import { gatewayCommand, type OrderOptions, orderHelp, talking, withTtl } from './gateway-command.ts'

const help = orderHelp('operation refuse inventory.sync --ttl 30m', 'operation serve inventory.sync')

/** Makes the command `operation`, the kill switch: exit 0 when it is done, 1 when the order is not accepted, 2 when the gateway could not be asked. */
export const operationCommand = (): Command =>
  withTtl(gatewayCommand('operation', 'Take one of the nine out of service for a while, or put it back.'))
    .addArgument(new Argument('<STATE>', 'what it is to do').choices(['refuse', 'serve']))
    .addArgument(new Argument('<ID>', 'which of the nine').choices(catalog.map(({ id }) => id)))
    .addHelpText('after', help)
    .action((state: 'refuse' | 'serve', id: string, { ttl, ...options }: OrderOptions) =>
      talking(async () => (await import('./gateway/operation.ts')).operation(state, id, ttl, options)),
    )
