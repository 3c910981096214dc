import type { Command } from 'commander'
import { type GatewayOptions, gatewayCommand, gatewayHelp, talking } from './gateway-command.ts'

interface Options extends GatewayOptions {
  readonly ready?: true
}

const help = gatewayHelp(
  `0 it answered, 2 it could not be asked (not reachable, token refused, wrong usage)
With --ready: 0 ready, 1 anything else; a container's health check knows no other code. It takes no token`,
  'status',
  'status --admin https://gateway-1.internal:9901 --format json',
  'status --ready --admin http://127.0.0.1:9901',
)

/** Makes the command `status`: exit 0 when a gateway answered, 2 when it could not be asked; with `--ready` 0 or 1 and nothing else. */
export const statusCommand = (): Command =>
  gatewayCommand('status', 'Show what a running gateway does, or ask whether it is ready.')
    .option('--ready', 'ask only whether it is ready: for health checks')
    .addHelpText('after', help)
    .action(async ({ ready, ...options }: Options) => {
      if (ready === undefined) return talking(async () => (await import('./gateway/status.ts')).showStatus(options))
      process.exitCode = await (await import('./gateway/ready.ts')).showReady(options)
    })
