import { Command } from 'commander'
import type { SampleReport } from '../../../features/sample/sample-report.ts'
import type { LoadResult } from '../../config/load/load.ts'
import { escapeControls } from '../../lib/text/escape-controls.ts'
import { loadCommandParts } from '../built-in-command.ts'
import { createFormatOption, defaultConfigFile, type OutputFormat } from '../options.ts'
import { formatJson } from '../render/output.ts'
import type { CheckedEndpoint, OnlineIssues } from './check-online.ts'

interface OnlineCheck extends OnlineIssues {
  readonly endpoints: readonly CheckedEndpoint[]
}

/** Makes the command `check`: exit 0 when the file is valid, 1 when it has problems, 2 when it cannot be read. */
export const createCheckCommand = (): Command =>
  new Command('check')
    .description('Check a configuration file, offline unless told otherwise, and print every problem at once.')
    .argument('[FILE]', `the file (default: ${JSON.stringify(defaultConfigFile)})`)
    .option('--config <FILE>', 'the file, as the other commands take it')
    .option(
      '--online',
      'also try every endpoint, as reload.preflight says, every issuer of tokens and every Redis, for at most 2 s, and whether audit.file can be opened',
    )
    .option(
      '--sample <FILE>',
      'also check an example of a request or response against the contract; more of them by further --sample',
      (sample: string, samples: readonly string[] = []) => [...samples, sample],
    )
    .addOption(createFormatOption())
    .addHelpText('after', help)
    .action(async (argument: string | undefined, options: CheckOptions, command: Command) => {
      const { config, online, sample: samples, format } = options
      if (argument !== undefined && config !== undefined)
        command.error('error: FILE and --config are the same: give one')
      const file = argument ?? config ?? defaultConfigFile
      const { loadConfig } = await import('../../config/load/load-config.ts')
      const result = loadConfig(file)
      const more: MoreChecks = {
        online: online === undefined ? null : await checkOnline(file, result),
        samples: samples === undefined ? null : await checkSamples(file, result, samples),
      }

      process.stdout.write(await (format === 'json' ? renderJson(file, result, more) : renderText(file, result, more)))
      if (online === true && !result.ok) process.stderr.write(notTried)
      if (samples !== undefined && !result.ok) process.stderr.write(noSampleChecked)
      process.exitCode = getExitCode(result, more)
    })

// An operator whose endpoint is down has been sent here: the problems alone read as if they were why.
const notTried =
  'lender-gateway: nothing was tried, because the file has problems; how the endpoints of a running gateway do: lender-gateway status\n'

const noSampleChecked = 'lender-gateway: no sample was checked, because the file has problems\n'

const help = `
A sample is a JSON object, or a list of them:

  { "operation": "valuation.score", "query": { "mode": "fast" }, "headers": { "X-Tenant": "a" }, "body": { "id": "7" },
    "response": { "status": 200, "headers": {}, "body": { "grade": "A" } } }

Only operation has to be there; method and path can stand in its place, and bodyText in that of body. With nothing but a response, no request
is checked.

Exit code: 0 good, 1 problems in a file (--online: or no endpoint of a group can be reached, --sample: or a message breaks the contract),
2 a file cannot be read, or wrong usage.

Example:
  lender-gateway check config/gateway.yaml --format json
  lender-gateway check --sample request.json`

interface CheckOptions {
  readonly config?: string
  readonly online?: true
  readonly sample?: readonly string[]
  readonly format: OutputFormat
}

/** What is checked besides the file. Null: the operator did not ask for it. */
interface MoreChecks {
  readonly online: OnlineCheck | null
  readonly samples: SampleReport | null
}

const getExitCode = (result: LoadResult, { online, samples }: MoreChecks): 0 | 1 | 2 => {
  if (!result.ok) return result.unreadable ? 2 : 1
  if (samples?.unreadable === true) return 2
  return (online?.problems ?? []).length > 0 || samples?.ok === false ? 1 : 0
}

/** Tries the endpoints, and what features use; a file with problems has none. */
async function checkOnline(file: string, result: LoadResult): Promise<OnlineCheck> {
  if (!result.ok) return { endpoints: [], problems: [], warnings: [] }
  const { collectOnlineIssues, checkEndpoints } = await import('./check-online.ts')
  const { locateKey } = await import('../../config/problem.ts')
  const { config, provenance } = result
  const locate = (key: string) => locateKey(key, provenance, file)
  const onlineChecks = (await loadCommandParts()).flatMap((part) => part.onlineChecks ?? [])
  const [endpoints, ...ofFeatures] = await Promise.all([
    checkEndpoints(config),
    ...onlineChecks.map((check) => check(config, locate)),
  ])
  const { problems, warnings } = collectOnlineIssues(endpoints, config, locate)
  return { endpoints, problems, warnings: [...ofFeatures.flat(), ...warnings] }
}

/** Checks samples against the contract; a file with problems has none that is known. */
async function checkSamples(
  file: string,
  result: LoadResult,
  samples: readonly string[],
): Promise<SampleReport | null> {
  if (!result.ok) return null
  const { checkSampleFiles } = await import('../../../features/sample/sample-report.ts')
  return checkSampleFiles(samples, result.config, file)
}

function renderJson(file: string, result: LoadResult, { online, samples }: MoreChecks): string {
  const { hash } = result.ok ? result.config : { hash: null }
  const problems = [...(result.ok ? [] : result.problems), ...(online?.problems ?? []), ...(samples?.problems ?? [])]
  const warnings = [...(result.ok ? result.warnings : []), ...(online?.warnings ?? [])]
  const report = {
    ok: problems.length === 0 && samples?.ok !== false,
    file,
    hash,
    problems,
    warnings,
    ...(online === null ? {} : { endpoints: online.endpoints }),
    ...(samples === null ? {} : { samples: samples.samples }),
  }
  return formatJson(report)
}

async function renderText(file: string, result: LoadResult, { online, samples }: MoreChecks): Promise<string> {
  const { formatPlace, formatProblem, formatProblemCount, formatProblems } = await import('../../config/problem.ts')
  if (!result.ok) return formatProblems(result.problems)
  const configWarnings = result.warnings.map((warning) => `warning: ${formatProblem(warning)}\n`)
  const onlineWarnings = (online?.warnings ?? []).map(
    (warning) => `warning: ${formatPlace(warning)}: ${escapeControls(warning.message)}\n`,
  )
  const problems = (online?.problems ?? []).map((problem) => ({ ...problem, found: escapeControls(problem.found) }))
  const good = `${file}: good (hash ${result.config.hash})${online === null ? '' : describeReached(online)}\n`
  const sampleText =
    samples === null ? '' : (await import('../../../features/sample/sample-report.ts')).renderSamples(samples)
  const count = problems.length + (samples?.problems.length ?? 0)
  return [
    ...configWarnings,
    ...onlineWarnings,
    problems.length > 0 ? '' : good,
    sampleText,
    ...problems.map((problem) => `${formatProblem(problem)}\n`),
    count > 0 ? `${formatProblemCount(count)}\n` : '',
  ].join('')
}

const describeReached = ({ endpoints }: OnlineCheck): string => {
  if (endpoints.length === 0) return ', no endpoint to try'
  return `, ${endpoints.filter((endpoint) => endpoint.reached).length} of ${endpoints.length} endpoints reached`
}
