import { Command } from 'commander'
import type { LoadResult } from '../config/load.ts'
import { printable } from '../shared/printable.ts'
import type { Judgement, TriedEndpoint } from './check-online.ts'
import { defaultFile, type Format, formatOption } from './options.ts'

/** Is what came of trying the endpoints, and what is to be said of it. */
interface Online extends Judgement {
  readonly endpoints: readonly TriedEndpoint[]
}

/** Makes the command `check`: exit 0 when the file is good, 1 when it has problems, 2 when it cannot be read. */
export const checkCommand = (): Command =>
  new Command('check')
    .description('Check a configuration file, offline unless told otherwise, and print every problem at once.')
    .argument('[FILE]', 'the file', defaultFile)
    .option('--online', 'also try every endpoint, for at most 2 s, as reload.preflight says')
    .addOption(formatOption())
    .addHelpText(
      'after',
      '\nExit code: 0 good, 1 problems in the file (--online: or no endpoint of a group can be reached), 2 it cannot be read.\n\nExample:\n  lender-gateway check config/gateway.yaml --format json',
    )
    .action(async (file: string, { online, format }: { online?: true; format: Format }) => {
      const { loadConfig } = await import('../config/load.ts')
      const result = loadConfig(file)
      const tried = online === undefined ? null : await goOnline(file, result)

      process.stdout.write(await (format === 'json' ? asJson(file, result, tried) : asText(file, result, tried)))
      if (!result.ok) process.exitCode = result.unreadable ? 2 : 1
      else if (tried !== null && tried.problems.length > 0) process.exitCode = 1
    })

/** Tries the endpoints; of a file that is not good there are none. */
async function goOnline(file: string, result: LoadResult): Promise<Online> {
  if (!result.ok) return { endpoints: [], problems: [], warnings: [] }
  const { judge, tryEndpoints } = await import('./check-online.ts')
  const endpoints = await tryEndpoints(result.config)
  return { endpoints, ...judge(endpoints, result.origins, file) }
}

function asJson(file: string, result: LoadResult, online: Online | null): string {
  const { hash } = result.ok ? result.config : { hash: null }
  const problems = [...(result.ok ? [] : result.problems), ...(online?.problems ?? [])]
  const warnings = [...(result.ok ? result.warnings : []), ...(online?.warnings ?? [])]
  const told = { ok: problems.length === 0, file, hash, problems, warnings }
  return `${JSON.stringify(online === null ? told : { ...told, endpoints: online.endpoints }, null, 2)}\n`
}

async function asText(file: string, result: LoadResult, online: Online | null): Promise<string> {
  const { formatProblem, formatProblems } = await import('../config/problem.ts')
  if (!result.ok) return formatProblems(result.problems)
  const doubts = result.warnings.map((warning) => `warning: ${formatProblem(warning)}\n`)
  const lost = (online?.warnings ?? []).map(
    ({ line, column, path, message }) => `warning: ${file}:${line}:${column} ${path}: ${printable(message)}\n`,
  )
  const warnings = [...doubts, ...lost].join('')
  if (online === null) return `${warnings}${file}: good (hash ${result.config.hash})\n`
  const { endpoints, problems } = online
  const unreached = problems.map((problem) => ({ ...problem, found: printable(problem.found) }))
  if (problems.length > 0) return `${warnings}${formatProblems(unreached)}`
  const reached = `${endpoints.filter((each) => each.reached).length} of ${endpoints.length} endpoints reached`
  return `${warnings}${file}: good (hash ${result.config.hash}), ${endpoints.length === 0 ? 'no endpoint to try' : reached}\n`
}
