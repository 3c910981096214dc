import type { Command } from 'commander'
import { type GatewayOptions, gatewayCommand, gatewayHelp, talking } from './gateway-command.ts'

const help = `
FILE is read here, with the environment and the secrets of whoever asks: run it where the gateway runs, or \${NAME} may stand for
something else. Secrets are never shown, only that they differ. Without FILE, the file of --config; with FILE and no --config, FILE names
the admin listener as well.
${gatewayHelp(
  '0 the file says what runs, 1 it differs or has problems, 2 the file cannot be read or the gateway could not be asked',
  'diff',
  'diff next.yaml --config config/gateway.yaml',
)}`

/** Makes the command `diff`: exit 0 when a file says what runs, 1 when it differs or has problems, 2 when one of them cannot be asked. */
export const diffCommand = (): Command => {
  const command = gatewayCommand('diff', 'Tell what differs between what runs and a file, group by group.')
  return command
    .argument('[FILE]', 'the file to compare with what runs')
    .option('--live', 'also tell how it stands just now with the groups that differ')
    .addHelpText('after', help)
    .action((file: string | undefined, options: GatewayOptions & { readonly live?: true }) => {
      const config = command.getOptionValueSource('config') === 'default' ? (file ?? options.config) : options.config
      return talking(async () => (await import('./gateway/compare.ts')).compare(file ?? config, { ...options, config }))
    })
}
