import { Command } from 'commander'
import type { ClientCommandOptions } from '../client/admin-target.ts'
import { createFormatOption, defaultConfigFile } from '../options.ts'

export const createClientCommand = (name: string, description: string, formatOption = createFormatOption()): Command =>
  new Command(name)
    .description(description)
    .option('--config <FILE>', 'the configuration file that names the admin listener', defaultConfigFile)
    .option('--admin <URL>', "the admin listener, in place of the file's")
    .addOption(formatOption)

export const clientCommandHelp = (exitCodes: string, ...examples: readonly string[]): string => `
The token is taken from LENDER_GATEWAY_ADMIN_TOKEN, else from admin.token in the file. Nothing else in the file need be sound.

Exit code: ${exitCodes}.

${examples.length === 1 ? 'Example' : 'Examples'}:
${examples.map((example) => `  lender-gateway ${example}`).join('\n')}`

export const runClientCommand = async (run: () => Promise<number>): Promise<void> => {
  process.exitCode = await run()
}

const statusHelp = clientCommandHelp(
  `0 the gateway responded, 2 it did not (not reachable, token rejected, wrong usage)
With --ready: 0 ready, 1 not ready or not reachable, 2 wrong usage alone. It takes no token`,
  'status',
  'status --admin https://gateway-1.internal:9901 --format json',
  'status --ready --admin http://127.0.0.1:9901',
)

export const createStatusCommand = (): Command =>
  createClientCommand('status', 'Show the state of a running gateway, or ask whether it is ready.')
    .option('--ready', 'ask only whether it is ready: for health checks')
    .addHelpText('after', statusHelp)
    .action(async ({ ready, ...options }: ClientCommandOptions & { readonly ready?: true }) => {
      if (ready === undefined) return runClientCommand(async () => (await import('./status.ts')).showStatus(options))
      process.exitCode = await (await import('./ready.ts')).showReady(options)
    })

const diffHelp = `
FILE is read here, with the environment and the secrets of the user who runs the command: run it where the gateway runs, or \${NAME} may stand for
something else. Secrets are never shown, only that they differ. Without FILE, the file of --config; with FILE and no --config, FILE names
the admin listener as well.
${clientCommandHelp(
  '0 no difference, 1 the file differs or has problems, 2 the file cannot be read or the gateway did not respond',
  'diff',
  'diff next.yaml --config config/gateway.yaml',
)}`

export const createDiffCommand = (): Command => {
  const command = createClientCommand('diff', 'Compare the running configuration with a file, group by group.')
  return command
    .argument('[FILE]', 'the file to compare with the running configuration')
    .option('--live', 'also show the state of the groups that differ')
    .addHelpText('after', diffHelp)
    .action((file: string | undefined, options: ClientCommandOptions & { readonly live?: true }) => {
      const config = command.getOptionValueSource('config') === 'default' ? (file ?? options.config) : options.config
      return runClientCommand(async () => (await import('./diff.ts')).showDiff(file ?? config, { ...options, config }))
    })
}
