import { readFileSync } from 'node:fs'
import { statusShape } from '../../../core/admin/api/status.ts'
import { getDecoded } from '../../../core/cli/client/admin-client.ts'
import {
  CliError,
  type ClientCommandOptions,
  locateGateway,
  type TargetOptions,
  targetUrl,
} from '../../../core/cli/client/admin-target.ts'
import { defaultConfigFile } from '../../../core/cli/options.ts'
import { renderChanges } from '../../../core/cli/render/config-diff.ts'
import { printJson, warnAboutTarget } from '../../../core/cli/render/output.ts'
import { readConfig } from '../../../core/config/load/load.ts'
import { formatProblems } from '../../../core/config/problem.ts'
import { programCommand, shellQuote } from '../../../core/lib/program.ts'
import { timesBeside } from '../../../core/lib/text/format-time.ts'
import { formatTable } from '../../../core/lib/text/table.ts'
import type { Group } from '../../../operations.ts'
import { type Promotion, planPromotion } from '../promote/promote-candidate.ts'
import { describeShift, isCandidateUp, isWholeShift, type ShiftStatus } from '../shift/shift-state.ts'
import { candidateRows } from './status-text.ts'

export const showShift = async (group: string, { format, ...targetOptions }: ClientCommandOptions): Promise<number> => {
  const target = await locateGateway(targetOptions)
  const { decoded: status, at } = await getDecoded(target, '/status', statusShape)
  warnAboutTarget(target, status.version)
  const candidate = status.upstreams[group]?.candidate
  if (candidate == null || candidate.shift === null) {
    process.stderr.write(`lender-gateway: ${targetUrl(target)}: ${group} has no candidate\n`)
    return 1
  }
  if (format === 'json') printJson({ group, ...candidate })
  else {
    process.stdout.write(`the candidate of ${group} gets ${describeShift(candidate.shift, timesBeside(at))}\n\n`)
    process.stdout.write(`${formatTable(candidateRows(group, { ...candidate, shift: null }, at))}\n`)
    const next = nextCommand(group, candidate.shift, isCandidateUp(candidate.endpoints), targetOptions)
    if (next !== null) process.stdout.write(`\n${next}\n`)
  }
  return 0
}

const nextCommand = (
  group: string,
  shift: ShiftStatus,
  isUp: boolean,
  { config, admin }: TargetOptions,
): string | null => {
  const ofFile = config === defaultConfigFile ? '' : ` --config ${shellQuote(config)}`
  const target = ofFile + (admin === undefined ? '' : ` --admin ${shellQuote(admin)}`)
  const commandOf = (option: string): string => `${programCommand()} shift ${group} ${option}${target}`
  if (shift.stopped) return `to send clients to the candidate again: ${commandOf('--resume')}`
  if (shift.share > 0 && !isUp)
    return `no endpoint of the candidate is up; to take its clients back: ${commandOf('--abort')}`
  return isWholeShift(shift) ? `to make the candidate the upstream: ${commandOf('--promote')} prints the file` : null
}

/** Never writes the file. */
export const showPromotion = async (group: Group, options: ClientCommandOptions): Promise<number> => {
  const { config: file, format } = options
  const loaded = await readConfig(file)
  if (!loaded.ok) {
    process.stderr.write(formatProblems(loaded.problems))
    return loaded.unreadable ? 2 : 1
  }
  const { hash, upstreams } = loaded.config
  if (upstreams[group].candidate === null) {
    process.stderr.write(`lender-gateway: ${file}: ${group} has no candidate\n`)
    return 1
  }
  // loadConfig strips a byte order mark too.
  const promotion = planPromotion(new TextDecoder().decode(readFileSync(file)), file, group, loaded)
  if (!promotion.ok) {
    process.stderr.write(describeFailure(file, group, promotion))
    return 1
  }
  const warnings = await findWarnings(group, hash, options)
  const { text, changes } = promotion
  if (format === 'json') printJson({ group, file, from: hash, to: promotion.hash, text, changes, warnings })
  else {
    process.stdout.write(text)
    process.stderr.write(`\n${file} ${hash} → ${promotion.hash}\n\n${renderChanges(changes)}`)
  }
  for (const warning of warnings) process.stderr.write(`lender-gateway: warning: ${warning}\n`)
  return 0
}

const describeFailure = (file: string, group: string, { problems }: Extract<Promotion, { ok: false }>): string =>
  problems.length > 0
    ? `lender-gateway: ${file}: the promotion of ${group} would make the file invalid: edit it by hand\n${formatProblems(problems)}`
    : `lender-gateway: ${file}: the promotion of ${group} would change something else too, such as a group that shares an anchor: edit the file by hand\n`

/** An unreachable gateway is only a warning: the promotion needs only the file. */
const findWarnings = async (group: string, hash: string, options: ClientCommandOptions): Promise<readonly string[]> => {
  try {
    const target = await locateGateway(options)
    const { decoded: status, at } = await getDecoded(target, '/status', statusShape)
    const { shift, endpoints } = status.upstreams[group]?.candidate ?? { shift: null, endpoints: [] }
    const url = targetUrl(target)
    if (shift === null) return [`${url} runs no candidate of ${group}`]
    const states = endpoints.map(({ url: each, state }) => `${each} is ${state}`).join(', ')
    return [
      status.config.hash !== hash &&
        `${url} runs another configuration than ${options.config} (hash ${status.config.hash})`,
      !isWholeShift(shift) && `at ${url} the candidate of ${group} gets ${describeShift(shift, timesBeside(at))}`,
      !isCandidateUp(endpoints) && `at ${url} no endpoint of the candidate of ${group} is up (${states})`,
    ].filter((warning) => warning !== false)
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    return [`the share of the candidate of ${group} is not known: ${error.message}`]
  }
}
