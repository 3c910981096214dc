import { Command, Option } from 'commander'
import { defaultConfigFile } from '../options.ts'

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
    .addOption(new Option('--format <FORMAT>', 'how to print').choices(['yaml', 'json']).default('yaml'))
    .addHelpText('after', help)
    .action(async ({ config: file, format }: { readonly config: string; readonly format: 'yaml' | 'json' }) => {
      const { loadConfig } = await import('../../config/load/load.ts')
      const loaded = loadConfig(file)
      if (!loaded.ok) {
        const { formatProblems } = await import('../../config/problem.ts')
        process.stderr.write(formatProblems(loaded.problems))
        process.exitCode = loaded.unreadable ? 2 : 1
        return
      }

      const { createOpenApiDocument } = await import('../../admin/openapi/openapi-document.ts')
      const document = createOpenApiDocument(loaded.config, loaded.config.compiledContract?.document ?? null)
      if (format === 'json') {
        const { printJson } = await import('../render/output.ts')
        printJson(document)
      } else {
        const { formatYaml } = await import('../../config/yaml/format-yaml.ts')
        process.stdout.write(formatYaml(document))
      }
    })
