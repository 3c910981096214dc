import { Command } from 'commander'

/** Makes the command `schema`: prints the JSON Schema of the configuration file. */
export const schemaCommand = (): Command =>
  new Command('schema')
    .description('Print the JSON Schema of the configuration file, for editors.')
    .addHelpText('after', '\nExit code: 0 printed.\n\nExample:\n  lender-gateway schema > config/gateway.schema.json')
    .action(async () => {
      const { jsonSchemaText } = await import('../config/json-schema.ts')
      process.stdout.write(jsonSchemaText())
    })
