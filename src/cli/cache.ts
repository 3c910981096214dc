import { Argument, type Command } from 'commander'
import { catalog } from '../catalog.ts'
import { type GatewayOptions, gatewayCommand, gatewayHelp, talking } from './gateway-command.ts'

interface Options extends GatewayOptions {
  readonly client?: string
}

// Only what is read is ever stored.
const cacheable = catalog.flatMap(({ id, method }) => (method === 'GET' ? [id] : []))

const help = `
What is stored is removed: all of it, or of an operation, or of a client. What is on its way meanwhile is served and not stored. The memory of other
gateways keeps what it has.
${gatewayHelp(
  '0 done, 1 the gateway could not do all of it, 2 it could not be asked',
  'cache clear market.insights',
  'cache clear --client bank-a',
)}`

/** Makes the command `cache`: exit 0 when it is done, 1 when not all of it could be, 2 when the gateway could not be asked. */
export const cacheCommand = (): Command =>
  gatewayCommand('cache', 'Have a running gateway remove what it has stored of answers.')
    .addArgument(new Argument('<ACTION>', 'what it is to do').choices(['clear']))
    .addArgument(new Argument('[OPERATION]', 'of which operation; without: of all').choices(cacheable))
    .option('--client <ID>', 'only what is stored for this client; empty: for those whose id was not asked')
    .addHelpText('after', help)
    .action((_: 'clear', operation: string | undefined, { client, ...options }: Options) =>
      talking(async () => (await import('./gateway/cache.ts')).clearCache({ operation, client }, options)),
    )
