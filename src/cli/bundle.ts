import type { Command } from 'commander'
import { type GatewayOptions, gatewayCommand, gatewayHelp, talking } from './gateway-command.ts'

interface Options extends GatewayOptions {
  readonly output?: string
  readonly force?: true
  readonly addresses?: true
}

const help = `
It is safe to send: no secret is in it, and the addresses of clients are cut to their network (/24, of IPv6 /48) unless --addresses is
given. MANIFEST.txt in it says what is there, and why what is missing is not.
${gatewayHelp(
  '0 written whole, 1 written, but a part is missing, 2 nothing was written',
  'bundle',
  'bundle --output /tmp/gateway.zip --admin https://gateway.internal:9901',
)}`

/** Makes the command `bundle`: exit 0 when the archive is written whole, 1 when parts of it are missing, 2 when there is none. */
export const bundleCommand = (): Command =>
  gatewayCommand('bundle', 'Write what is known of a running gateway into one archive, for whoever is to help.')
    .option('--output <FILE>', 'where to; - is stdout (default: a name with the time, in this folder)')
    .option('--force', 'overwrite it')
    .option('--addresses', 'leave the addresses of clients as they are')
    .addHelpText('after', help)
    .action((options: Options) => talking(async () => (await import('./gateway/bundle/bundle.ts')).bundle(options)))
