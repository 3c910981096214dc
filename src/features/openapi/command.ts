import { Command } from 'commander'
import type { BuiltInCommand } from '../../core/cli/built-in-command.ts'
import { createFormatOption, type DocumentFormat, defaultConfigFile } from '../../core/cli/options.ts'
import { printMadeDocument } from '../../core/cli/render/output.ts'

const openApiHelp = `
It tells what the file says, as start-up or a reload would read it, and asks no gateway. A running gateway has the document at
GET /openapi.json of its admin listener.

Exit code: 0 printed, 1 the file has problems, 2 the file cannot be read, or wrong usage.

Examples:
  lender-gateway openapi > openapi.yaml
  lender-gateway openapi --config config/gateway.yaml --format json`

const createOpenApiCommand = (): Command =>
  new Command('openapi')
    .description(
      'Print the OpenAPI 3.1 document of the nine operations, with the errors, fields and authentication of the gateway.',
    )
    .option('--config <FILE>', 'the configuration file', defaultConfigFile)
    .addOption(createFormatOption('yaml'))
    .addHelpText('after', openApiHelp)
    .action(({ config: file, format }: { readonly config: string; readonly format: DocumentFormat }) =>
      printMadeDocument(file, format, async (config) =>
        (await import('./openapi-document.ts')).createOpenApiDocument(config),
      ),
    )

export const builtInCommands: readonly BuiltInCommand[] = [{ after: 'check', create: createOpenApiCommand }]
