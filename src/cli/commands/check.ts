import { Command } from 'commander'
import type { LoadResult } from '../../config/load/load.ts'
import { escapeControls } from '../../shared/escape-controls.ts'
import { createFormatOption, defaultConfigFile, type OutputFormat } from '../options.ts'
import type { CheckedEndpoint, OnlineIssues } from './check-online.ts'

/** The checked endpoints, and their issues. */
interface OnlineCheck extends OnlineIssues {
  readonly endpoints: readonly CheckedEndpoint[]
}

/** Makes the command `check`: exit 0 when the file is valid, 1 when it has problems, 2 when it cannot be read. */
export const createCheckCommand = (): Command =>
  new Command('check')
    .description('Check a configuration file, offline unless told otherwise, and print every problem at once.')
    .argument('[FILE]', 'the file', defaultConfigFile)
    .option(
      '--online',
      'also try every endpoint, for at most 2 s, as reload.preflight says, and whether audit.file can be opened',
    )
    .addOption(createFormatOption())
    .addHelpText(
      'after',
      '\nExit code: 0 good, 1 problems in the file (--online: or no endpoint of a group can be reached), 2 it cannot be read.\n\nExample:\n  lender-gateway check config/gateway.yaml --format json',
    )
    .action(async (file: string, { online, format }: { online?: true; format: OutputFormat }) => {
      const { loadConfig } = await import('../../config/load/load.ts')
      const result = loadConfig(file)
      const onlineResult = online === undefined ? null : await checkOnline(file, result)

      process.stdout.write(
        await (format === 'json' ? renderJson(file, result, onlineResult) : renderText(file, result, onlineResult)),
      )
      if (!result.ok) process.exitCode = result.unreadable ? 2 : 1
      else if (onlineResult !== null && onlineResult.problems.length > 0) process.exitCode = 1
    })

/** Checks the endpoints and the audit file; a file with problems has none. */
async function checkOnline(file: string, result: LoadResult): Promise<OnlineCheck> {
  if (!result.ok) return { endpoints: [], problems: [], warnings: [] }
  const { collectOnlineIssues, checkEndpoints } = await import('./check-online.ts')
  const { checkAuditFile } = await import('./check-audit-file.ts')
  const { config, provenance } = result
  const endpoints = await checkEndpoints(config)
  const { problems, warnings } = collectOnlineIssues(endpoints, provenance, file)
  return { endpoints, problems, warnings: [...(await checkAuditFile(config, provenance, file)), ...warnings] }
}

function renderJson(file: string, result: LoadResult, online: OnlineCheck | null): string {
  const { hash } = result.ok ? result.config : { hash: null }
  const problems = [...(result.ok ? [] : result.problems), ...(online?.problems ?? [])]
  const warnings = [...(result.ok ? result.warnings : []), ...(online?.warnings ?? [])]
  const report = { ok: problems.length === 0, file, hash, problems, warnings }
  return `${JSON.stringify(online === null ? report : { ...report, endpoints: online.endpoints }, null, 2)}\n`
}

async function renderText(file: string, result: LoadResult, online: OnlineCheck | null): Promise<string> {
  const { formatProblem, formatProblems } = await import('../../config/problem.ts')
  if (!result.ok) return formatProblems(result.problems)
  const configWarnings = result.warnings.map((warning) => `warning: ${formatProblem(warning)}\n`)
  const onlineWarnings = (online?.warnings ?? []).map(
    ({ line, column, path, message }) => `warning: ${file}:${line}:${column} ${path}: ${escapeControls(message)}\n`,
  )
  const warnings = [...configWarnings, ...onlineWarnings].join('')
  if (online === null) return `${warnings}${file}: good (hash ${result.config.hash})\n`
  const { endpoints, problems } = online
  const printableProblems = problems.map((problem) => ({ ...problem, found: escapeControls(problem.found) }))
  if (problems.length > 0) return `${warnings}${formatProblems(printableProblems)}`
  const reached = `${endpoints.filter((endpoint) => endpoint.reached).length} of ${endpoints.length} endpoints reached`
  return `${warnings}${file}: good (hash ${result.config.hash}), ${endpoints.length === 0 ? 'no endpoint to try' : reached}\n`
}
