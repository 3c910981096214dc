import { Command } from 'commander'
import type { LoadResult } from '../config/load.ts'
import { defaultFile } from './default-file.ts'
import { type Format, formatOption } from './format.ts'

/** Makes the command `check`: exit 0 when the file is good, 1 when it has problems, 2 when it cannot be read. */
export const checkCommand = (): Command =>
  new Command('check')
    .description('Check a configuration file, offline, and print every problem at once.')
    .argument('[FILE]', 'the file', defaultFile)
    .addOption(formatOption())
    .addHelpText(
      'after',
      '\nExit code: 0 good, 1 problems in the file, 2 it cannot be read.\n\nExample:\n  lender-gateway check config/gateway.yaml --format json',
    )
    .action(async (file: string, { format }: { format: Format }) => {
      const { loadConfig } = await import('../config/load.ts')
      const result = loadConfig(file)

      process.stdout.write(await (format === 'json' ? asJson(file, result) : asText(file, result)))
      if (!result.ok) process.exitCode = result.unreadable ? 2 : 1
    })

function asJson(file: string, result: LoadResult): string {
  const { hash } = result.ok ? result.config : { hash: null }
  const problems = result.ok ? [] : result.problems
  const warnings = result.ok ? result.warnings : []
  return `${JSON.stringify({ ok: result.ok, file, hash, problems, warnings }, null, 2)}\n`
}

async function asText(file: string, result: LoadResult): Promise<string> {
  const { formatProblem, formatProblems } = await import('../config/problem.ts')
  if (!result.ok) return formatProblems(result.problems)
  const warnings = result.warnings.map((warning) => `warning: ${formatProblem(warning)}\n`)
  return `${warnings.join('')}${file}: good (hash ${result.config.hash})\n`
}
