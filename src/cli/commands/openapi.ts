import { Command } from 'commander'
import { createFormatOption, type DocumentFormat, defaultConfigFile } from '../options.ts'
import { printMadeDocument } from '../render/print-made-document.ts'

const help = `
It tells what the file says, as start-up or a reload would read it, and asks no gateway. A running gateway has the document at
GET /openapi.json of its admin listener.

Exit code: 0 printed, 1 the file has problems, 2 the file cannot be read, or wrong usage.

Examples:
  lender-gateway openapi > openapi.yaml
  lender-gateway openapi --config config/gateway.yaml --format json`

/** Makes the command `openapi`: exit 0 when the document is printed, 1 for a file with problems, 2 for no file. */
export const createOpenApiCommand = (): Command =>
  new Command('openapi')
    .description('Print the OpenAPI 3.1 document of the nine, with errors, fields and authentication of the gateway.')
    .option('--config <FILE>', 'the configuration file', defaultConfigFile)
    .addOption(createFormatOption('yaml'))
    .addHelpText('after', help)
    .action(({ config: file, format }: { readonly config: string; readonly format: DocumentFormat }) =>
      printMadeDocument(file, format, async (config) => {
        const { createOpenApiDocument } = await import('../../admin/openapi/openapi-document.ts')
        return createOpenApiDocument(config, config.compiledContract?.document ?? null)
      }),
    )
