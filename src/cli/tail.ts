import { type Command, Option } from 'commander'
import { catalog } from '../catalog.ts'
import { type GatewayOptions, gatewayCommand, gatewayHelp, talking } from './gateway-command.ts'

interface Options extends GatewayOptions {
  readonly since?: string
  readonly operation?: string
}

const help = `
It goes on until Ctrl-C, or until nobody reads its output, also while the gateway restarts; what may be missing is said on stderr.
${gatewayHelp(
  '0 ended by Ctrl-C, or by its reader, 2 the gateway could not be asked at first',
  'tail --refused',
  'tail --refused --since 10m --operation market.insights --format json',
)}`

/** Makes the command `tail`: exit 0 when it was ended, 2 when the gateway could not be asked at first. */
export const tailCommand = (): Command =>
  gatewayCommand('tail', 'Print the requests that a running gateway refuses, with the reason, as they come.')
    .requiredOption('--refused', 'those that are answered with an error of the gateway’s own')
    .option('--since <DURATION>', 'those as well that were refused in the time before, as far as the gateway remembers')
    .addOption(new Option('--operation <ID>', 'of this one only').choices(catalog.map(({ id }) => id)))
    .addHelpText('after', help)
    .action((options: Options) => talking(async () => (await import('./gateway/tail/tail.ts')).tailRefused(options)))
