import { Command } from 'commander'
import { defaultFile } from './default-file.ts'
import { type Format, formatOption } from './format.ts'

interface Options {
  readonly config: string
  readonly format: Format
}

const help = `
It asks no gateway: it tells what the file says, as start-up or a reload would read it. Only the method and
the target are looked at; header fields, a body and what an operator refuses for a while (status) are not.

Exit code: 0 it would be forwarded, 1 it would be refused, or the file has problems, 2 the file cannot be read, or wrong usage.

Examples:
  lender-gateway explain GET '/market/insights?region=eu'
  lender-gateway explain POST /valuation/score --config config/gateway.yaml --format json`

/** Makes the command `explain`: exit 0 when the request would be forwarded, 1 when it would be refused, 2 when the file cannot be read. */
export const explainCommand = (): Command =>
  new Command('explain')
    .description(
      'Tell what becomes of a request, offline: where it goes and which line of the file says so, or why it is refused.',
    )
    .argument('<METHOD>', 'the method, in upper case')
    .argument(
      '<TARGET>',
      'the request target as a client sends it: a path with or without a query, or a whole http:// URL',
    )
    .option('--config <FILE>', 'the configuration file', defaultFile)
    .addOption(formatOption())
    .addHelpText('after', help)
    .action(async (method: string, target: string, { config: file, format }: Options) => {
      const { loadConfig } = await import('../config/load.ts')
      const loaded = loadConfig(file)
      if (!loaded.ok) {
        const { formatProblems } = await import('../config/problem.ts')
        const { problems } = loaded
        const told = { forwarded: null, method, target, file, hash: null, problems }
        process.stdout.write(format === 'json' ? `${JSON.stringify(told, null, 2)}\n` : formatProblems(problems))
        process.exitCode = loaded.unreadable ? 2 : 1
        return
      }

      const { explain } = await import('./explain/explanation.ts')
      const explanation = await explain(method, target, file, loaded)
      process.stdout.write(
        format === 'json'
          ? (await import('./explain/json.ts')).explanationJson(explanation)
          : (await import('./explain/text.ts')).explanationText(explanation),
      )
      if (explanation.refused !== null) process.exitCode = 1
    })
