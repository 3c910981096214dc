import type { Command } from 'commander'
import type { BuiltInCommand } from '../../core/cli/built-in-command.ts'
import { clientCommandHelp, createClientCommand, runClientCommand } from '../../core/cli/commands/client-commands.ts'
import type { BundleOptions } from './bundle.ts'

const bundleHelp = `
It is safe to send: no secret is in it, and the addresses of clients are cut to their network (/24, of IPv6 /48) unless --addresses is
given. Its MANIFEST.txt lists each part, and why a part is missing.
${clientCommandHelp(
  '0 written whole, 1 written, but a part is missing, 2 nothing was written',
  'bundle',
  'bundle --output /tmp/gateway.zip --admin https://gateway.internal:9901',
)}`

const createBundleCommand = (): Command =>
  createClientCommand('bundle', 'Write the state of a running gateway into one archive, for support.')
    .option('--output <FILE>', 'where to; - is stdout (default: a name with the time, in this folder)')
    .option('--force', 'overwrite it')
    .option('--addresses', 'leave the addresses of clients as they are')
    .addHelpText('after', bundleHelp)
    .action((options: BundleOptions) =>
      runClientCommand(async () => (await import('./bundle.ts')).createBundle(options)),
    )

export const builtInCommands: readonly BuiltInCommand[] = [{ after: 'diff', create: createBundleCommand }]
