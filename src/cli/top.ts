import type { Command } from 'commander'
import { type GatewayOptions, gatewayCommand, gatewayHelp, talking } from './gateway-command.ts'

interface Options extends GatewayOptions {
  readonly once?: true
}

const help = `
On a terminal it is drawn anew each second, to the size of the window, until q or Ctrl-C. Elsewhere, with --once, or as JSON (what /overview
answers) it is printed once. NO_COLOR leaves colours out; where the locale is not UTF-8, charts are drawn in ASCII.
${gatewayHelp('0 ended, 2 the gateway could not be asked at first', 'top', 'top --once', 'top --admin https://gateway.internal:9901')}`

/** Makes the command `top`: exit 0 when it was ended, 2 when the gateway could not be asked at first. */
export const topCommand = (): Command =>
  gatewayCommand('top', 'Show how a running gateway does, live: what is wrong, the nine, every endpoint, the limits.')
    .option('--once', 'print it once')
    .addHelpText('after', help)
    .action((options: Options) => talking(async () => (await import('./gateway/top/top.ts')).top(options)))
