import { Command } from 'commander'
import type { LoadResult } from '../../config/load/load.ts'
import { escapeControls } from '../../lib/text/escape-controls.ts'
import { commandPartLoaders, type FileCheck, type FileCheckResult } from '../built-in-command.ts'
import { createFormatOption, defaultConfigFile, type OutputFormat } from '../options.ts'
import { formatJson } from '../render/output.ts'

export const createCheckCommand = (fileChecks: readonly FileCheck[]): Command => {
  const check = new Command('check')
    .description('Check a configuration file and print every problem at once; without --online it connects to nothing.')
    .argument('[FILE]', `the file (default: ${JSON.stringify(defaultConfigFile)})`)
    .option('--config <FILE>', 'the file, as the other commands take it')
    .option(
      '--online',
      'also try every endpoint, as reload.preflight says, every issuer of tokens and every Redis, for at most 2 s, and whether audit.file can be opened',
    )
  for (const { option, description } of fileChecks)
    check.option(option, description, (value: string, values: readonly string[] = []) => [...values, value])
  return check
    .addOption(createFormatOption())
    .addHelpText('after', renderHelp(fileChecks))
    .action(async (argument: string | undefined, options: CheckOptions, command: Command) => {
      const { config, online, format } = options
      if (argument !== undefined && config !== undefined)
        command.error('error: FILE and --config are the same: give one')
      const file = argument ?? config ?? defaultConfigFile
      const { readConfig } = await import('../../config/load/load.ts')
      const result = await readConfig(file)
      const asked = fileChecks.filter(({ name }) => options[name] !== undefined)
      const more: MoreChecks = {
        online: online === undefined ? null : await checkOnline(file, result),
        results: await Promise.all(
          asked.flatMap(({ name, run }) =>
            result.ok ? run(options[name] as readonly string[], result.config, file) : [],
          ),
        ),
      }

      process.stdout.write(await (format === 'json' ? renderJson(file, result, more) : renderText(file, result, more)))
      if (online === true && !result.ok) process.stderr.write(notTried)
      if (!result.ok) for (const { notRun } of asked) process.stderr.write(notRun)
      process.exitCode = getExitCode(result, more)
    })
}

// Findings about a failing endpoint name this command: without the line, problems of the file read as the cause.
const notTried =
  'lender-gateway: no endpoint was tried, because the file has problems; for the endpoints of a running gateway: lender-gateway status\n'

const renderHelp = (checks: readonly FileCheck[]): string =>
  `${checks.map(({ help }) => help).join('')}
Exit code: 0 good, 1 problems in a file (${['--online: or no endpoint of a group can be reached', ...checks.map(({ exitCode }) => exitCode)].join(', ')}),
2 a file cannot be read, or wrong usage.

Example:
${['check config/gateway.yaml --format json', ...checks.map(({ example }) => example)].map((example) => `  lender-gateway ${example}`).join('\n')}`

interface CheckOptions {
  readonly config?: string
  readonly online?: true
  readonly format: OutputFormat
  readonly [fileCheck: string]: unknown
}

interface MoreChecks {
  readonly online: Awaited<ReturnType<typeof checkOnline>> | null
  readonly results: readonly FileCheckResult[]
}

const getExitCode = (result: LoadResult, { online, results }: MoreChecks): 0 | 1 | 2 => {
  if (!result.ok) return result.unreadable ? 2 : 1
  if (results.some(({ unreadable }) => unreadable)) return 2
  return (online?.problems ?? []).length > 0 || results.some(({ ok }) => !ok) ? 1 : 0
}

async function checkOnline(file: string, result: LoadResult) {
  if (!result.ok) return { endpoints: [], problems: [], warnings: [] }
  const { collectOnlineIssues, checkEndpoints } = await import('./check-online.ts')
  const { locateKey } = await import('../../config/problem.ts')
  const { config, provenance } = result
  const locate = (key: string) => locateKey(key, provenance, file)
  const onlineChecks = (await commandPartLoaders.load()).flatMap((part) => part.onlineChecks ?? [])
  const [endpoints, ...ofFeatures] = await Promise.all([
    checkEndpoints(config),
    ...onlineChecks.map((check) => check(config, locate)),
  ])
  const { problems, warnings } = collectOnlineIssues(endpoints, config, locate)
  return { endpoints, problems, warnings: [...ofFeatures.flat(), ...warnings] }
}

function renderJson(file: string, result: LoadResult, { online, results }: MoreChecks): string {
  const hash = result.ok ? result.config.hash : null
  const ofChecks = results.flatMap((each) => each.problems)
  const problems = [...(result.ok ? [] : result.problems), ...(online?.problems ?? []), ...ofChecks]
  const warnings = [...(result.ok ? result.warnings : []), ...(online?.warnings ?? [])]
  const ok = problems.length === 0 && results.every((each) => each.ok)
  const endpoints = online === null ? {} : { endpoints: online.endpoints }
  return formatJson(
    Object.assign({ ok, file, hash, problems, warnings, ...endpoints }, ...results.map(({ json }) => json)),
  )
}

async function renderText(file: string, result: LoadResult, { online, results }: MoreChecks): Promise<string> {
  const { formatPlace, formatProblem, formatProblemCount, formatProblems } = await import('../../config/problem.ts')
  if (!result.ok) return formatProblems(result.problems)
  const configWarnings = result.warnings.map((warning) => `warning: ${formatProblem(warning)}\n`)
  const onlineWarnings = (online?.warnings ?? []).map(
    (warning) => `warning: ${formatPlace(warning)}: ${escapeControls(warning.message)}\n`,
  )
  const problems = (online?.problems ?? []).map((problem) => ({ ...problem, found: escapeControls(problem.found) }))
  const good = `${file}: good (hash ${result.config.hash})${online === null ? '' : describeReached(online.endpoints)}\n`
  const count = problems.length + results.flatMap((each) => each.problems).length
  return [
    ...configWarnings,
    ...onlineWarnings,
    problems.length > 0 ? '' : good,
    ...results.map(({ text }) => text),
    ...problems.map((problem) => `${formatProblem(problem)}\n`),
    count > 0 ? `${formatProblemCount(count)}\n` : '',
  ].join('')
}

const describeReached = (endpoints: readonly { readonly reached: boolean }[]): string =>
  endpoints.length === 0
    ? ', no endpoint to try'
    : `, ${endpoints.filter(({ reached }) => reached).length} of ${endpoints.length} endpoints reached`
