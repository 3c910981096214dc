import { Command, Option } from 'commander'
import type { BundleOptions } from '../../../features/bundle/bundle.ts'
import type { TailOptions } from '../../../features/tail/tail.ts'
import type { TopOptions } from '../../../features/top/top.ts'
import { allOperations } from '../../../operations.ts'
import type { ClientCommandOptions } from '../client/locate.ts'
import { createFormatOption, defaultConfigFile } from '../options.ts'

/** `formatOption`: how to print, by default as text or JSON. */
export const createClientCommand = (name: string, description: string, formatOption = createFormatOption()): Command =>
  new Command(name)
    .description(description)
    .option('--config <FILE>', 'the configuration file that names the admin listener', defaultConfigFile)
    .option('--admin <URL>', 'the admin listener, in place of what the file says')
    .addOption(formatOption)

export const clientCommandHelp = (exitCodes: string, ...examples: readonly string[]): string => `
The token is taken from LENDER_GATEWAY_ADMIN_TOKEN, else from admin.token in the file. Nothing else in the file need be sound.

Exit code: ${exitCodes}.

${examples.length === 1 ? 'Example' : 'Examples'}:
${examples.map((example) => `  lender-gateway ${example}`).join('\n')}`

/** Runs such a command and sets its exit code; 2, with one line on stderr, when the gateway could not be asked. */
export const runClientCommand = async (run: () => Promise<number>): Promise<void> => {
  const { CliError } = await import('../client/admin-target.ts')
  try {
    process.exitCode = await run()
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    process.stderr.write(`lender-gateway: ${error.message}\n`)
    process.exitCode = 2
  }
}

const statusHelp = clientCommandHelp(
  `0 it answered, 2 it could not be asked (not reachable, token refused, wrong usage)
With --ready: 0 ready, 1 not ready or not reachable, 2 wrong usage alone. It takes no token`,
  'status',
  'status --admin https://gateway-1.internal:9901 --format json',
  'status --ready --admin http://127.0.0.1:9901',
)

/** Makes the command `status`: exit 0 when a gateway responded, else 2; with `--ready` 0 or 1 and nothing else. */
export const createStatusCommand = (): Command =>
  createClientCommand('status', 'Show what a running gateway does, or ask whether it is ready.')
    .option('--ready', 'ask only whether it is ready: for health checks')
    .addHelpText('after', statusHelp)
    .action(async ({ ready, ...options }: ClientCommandOptions & { readonly ready?: true }) => {
      if (ready === undefined) return runClientCommand(async () => (await import('./status.ts')).showStatus(options))
      process.exitCode = await (await import('./ready.ts')).showReady(options)
    })

const topHelp = `
On a terminal it is drawn anew each second, to the size of the window, until q or Ctrl-C. Elsewhere, with --once, or as JSON (what /overview
answers) it is printed once. NO_COLOR leaves colours out; where the locale is not UTF-8, charts are drawn in ASCII.
${clientCommandHelp('0 ended, 2 the gateway could not be asked at first', 'top', 'top --once', 'top --admin https://gateway.internal:9901')}`

/** Makes the command `top`: exit 0 when the operator ends it, 2 when the gateway could not be asked at first. */
export const createTopCommand = (): Command =>
  createClientCommand(
    'top',
    'Show how a running gateway does, live: what is wrong, the nine, every endpoint, the limits.',
  )
    .option('--once', 'print it once')
    .addHelpText('after', topHelp)
    .action((options: TopOptions) =>
      runClientCommand(async () => (await import('../../../features/top/top.ts')).runTop(options)),
    )

const tailHelp = `
It goes on until Ctrl-C, or until nobody reads its output, also while the gateway restarts; what may be missing is said on stderr.
${clientCommandHelp(
  '0 ended by Ctrl-C, or by its reader, 2 the gateway could not be asked at first',
  'tail',
  'tail --client bank-a',
  'tail --refused --since 10m --operation market.insights --format json',
)}`

/** Makes the command `tail`: exit 0 when the operator ends it, 2 when the gateway could not be asked at first. */
export const createTailCommand = (): Command =>
  createClientCommand('tail', 'Print the requests of a running gateway as they end, with what became of them.')
    .option('--refused', 'those alone that are answered with an error of the gateway’s own, with the reason')
    .option('--since <DURATION>', 'those as well that were refused in the time before, as far as the gateway remembers')
    .option('--client <NAME>', 'of this one only: its name, or its address')
    .addOption(new Option('--operation <ID>', 'of this one only').choices(allOperations.map(({ id }) => id)))
    .addHelpText('after', tailHelp)
    .action((options: TailOptions) =>
      runClientCommand(async () => (await import('../../../features/tail/tail.ts')).tailRequests(options)),
    )

const diffHelp = `
FILE is read here, with the environment and the secrets of whoever asks: run it where the gateway runs, or \${NAME} may stand for
something else. Secrets are never shown, only that they differ. Without FILE, the file of --config; with FILE and no --config, FILE names
the admin listener as well.
${clientCommandHelp(
  '0 the file says what runs, 1 it differs or has problems, 2 the file cannot be read or the gateway could not be asked',
  'diff',
  'diff next.yaml --config config/gateway.yaml',
)}`

/**
 * Makes the command `diff`: exit 0 when the file equals the running configuration, 1 when it differs or has problems, 2
 * when one of the two cannot be read.
 */
export const createDiffCommand = (): Command => {
  const command = createClientCommand('diff', 'Tell what differs between what runs and a file, group by group.')
  return command
    .argument('[FILE]', 'the file to compare with what runs')
    .option('--live', 'also tell how it stands just now with the groups that differ')
    .addHelpText('after', diffHelp)
    .action((file: string | undefined, options: ClientCommandOptions & { readonly live?: true }) => {
      const config = command.getOptionValueSource('config') === 'default' ? (file ?? options.config) : options.config
      return runClientCommand(async () => (await import('./diff.ts')).showDiff(file ?? config, { ...options, config }))
    })
}

const bundleHelp = `
It is safe to send: no secret is in it, and the addresses of clients are cut to their network (/24, of IPv6 /48) unless --addresses is
given. MANIFEST.txt in it says what is there, and why what is missing is not.
${clientCommandHelp(
  '0 written whole, 1 written, but a part is missing, 2 nothing was written',
  'bundle',
  'bundle --output /tmp/gateway.zip --admin https://gateway.internal:9901',
)}`

/** Makes the command `bundle`: exit 0 when the archive is complete, 1 when parts are missing, 2 without an archive. */
export const createBundleCommand = (): Command =>
  createClientCommand('bundle', 'Write what is known of a running gateway into one archive, for whoever is to help.')
    .option('--output <FILE>', 'where to; - is stdout (default: a name with the time, in this folder)')
    .option('--force', 'overwrite it')
    .option('--addresses', 'leave the addresses of clients as they are')
    .addHelpText('after', bundleHelp)
    .action((options: BundleOptions) =>
      runClientCommand(async () => (await import('../../../features/bundle/bundle.ts')).createBundle(options)),
    )
