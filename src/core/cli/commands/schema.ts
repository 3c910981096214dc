import { Command } from 'commander'

export const createSchemaCommand = (): Command =>
  new Command('schema')
    .description('Print the JSON Schema of the configuration file, for editors.')
    .addHelpText('after', '\nExit code: 0 printed.\n\nExample:\n  lender-gateway schema > config/gateway.schema.json')
    .action(async () => {
      const { jsonSchemaText } = await import('../../config/schema/schema-keys.ts')
      process.stdout.write(jsonSchemaText())
    })
