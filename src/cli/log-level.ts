import { Argument, type Command } from 'commander'
import { logLevels } from '../observe/level.ts'
import { type GatewayOptions, gatewayCommand, gatewayHelp, talking } from './gateway-command.ts'

interface Options extends GatewayOptions {
  readonly for: string
}

const help = `
All workers follow at once, and the file is left alone: its word holds again when the time is over, whatever was reloaded meanwhile, or
with "back". Without LEVEL: at which level the log is written, and until when.
${gatewayHelp(
  '0 done, 1 the gateway does not accept the order, 2 it could not be asked',
  'log-level debug --for 5m',
  'log-level back',
  'log-level',
)}`

/** Makes the command `log-level`: exit 0 when it is done, 1 when the order is not accepted, 2 when the gateway could not be asked. */
export const logLevelCommand = (): Command =>
  gatewayCommand('log-level', 'Have a running gateway log more, or less, for a while; tell how much it logs.')
    .addArgument(new Argument('[LEVEL]', 'the least severe level that is written').choices([...logLevels, 'back']))
    .option('--for <DURATION>', 'for how long, at least 1s and at most 24h', '15m')
    .addHelpText('after', help)
    .action((level: string | undefined, { for: ttl, ...options }: Options) =>
      talking(async () => {
        const { setLogLevel, showLogLevel } = await import('./gateway/log-level.ts')
        return level === undefined ? showLogLevel(options) : setLogLevel(level, ttl, options)
      }),
    )
