import { Argument, type Command } from 'commander'
import { groups } from '../catalog.ts'
import { gatewayCommand, type OrderOptions, orderHelp, talking, withTtl } from './gateway-command.ts'

const help = orderHelp(
  'endpoint drain risk http://risk-a.internal:8080 --ttl 30m',
  'endpoint ready risk http://risk-a.internal:8080',
)

/** Makes the command `endpoint`: exit 0 when it is done, 1 when the order is not accepted, 2 when the gateway could not be asked. */
export const endpointCommand = (): Command =>
  withTtl(
    gatewayCommand('endpoint', 'Have one endpoint of a group take no new requests for a while, or take them again.'),
  )
    .addArgument(new Argument('<STATE>', 'what it is to do').choices(['drain', 'ready']))
    .addArgument(new Argument('<GROUP>', 'behind which group it stands').choices(groups))
    .addArgument(new Argument('<URL>', 'which of them, as status shows it'))
    .addHelpText('after', help)
    .action((state: 'drain' | 'ready', group: string, url: string, { ttl, ...options }: OrderOptions) =>
      talking(async () => (await import('./gateway/endpoint.ts')).endpoint(state, group, url, ttl, options)),
    )
