import { Command } from 'commander'
import { defaultFile } from './default-file.ts'
import { type Format, formatOption } from './format.ts'

/** Is what every command that talks to a gateway is given. */
export interface GatewayOptions {
  readonly config: string
  readonly admin?: string
  readonly format: Format
}

/** Makes a command that talks to a running gateway. */
export const gatewayCommand = (name: string, description: string): Command =>
  new Command(name)
    .description(description)
    .option('--config <FILE>', 'the configuration file that names the admin listener', defaultFile)
    .option('--admin <URL>', 'the admin listener, in place of what the file says')
    .addOption(formatOption())

/** Ends the help of a command that talks to a gateway: who may ask, how it ends, what to write. */
export const gatewayHelp = (exitCodes: string, ...examples: readonly string[]): string => `
The token is taken from LENDER_GATEWAY_ADMIN_TOKEN, else from admin.token in the file. Nothing else in the file need be sound.

Exit code: ${exitCodes}.

${examples.length === 1 ? 'Example' : 'Examples'}:
${examples.map((example) => `  lender-gateway ${example}`).join('\n')}`

/** Runs what talks to a gateway and sets the exit code that it resolves to; 2, with one line on stderr, when it could not ask. */
export const talking = async (talk: () => Promise<number>): Promise<void> => {
  const { Unasked } = await import('./gateway/unasked.ts')
  try {
    process.exitCode = await talk()
  } catch (error) {
    if (!(error instanceof Unasked)) throw error
    process.stderr.write(`lender-gateway: ${error.message}\n`)
    process.exitCode = 2
  }
}
