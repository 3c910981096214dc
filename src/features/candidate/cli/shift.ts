import { statusShape } from '../../../core/admin/api/status.ts'
import { getDecoded } from '../../../core/cli/client/admin-client.ts'
import { targetUrl } from '../../../core/cli/client/admin-target.ts'
import { type ClientCommandOptions, locateGateway, type TargetOptions } from '../../../core/cli/client/locate.ts'
import { defaultConfigFile } from '../../../core/cli/options.ts'
import { timesBeside } from '../../../core/cli/render/format-time.ts'
import { printJson, warnAboutTarget } from '../../../core/cli/render/output.ts'
import { formatTable } from '../../../core/cli/render/table.ts'
import { programCommand, shellQuote } from '../../../core/lib/program.ts'
import { describeShift, isCandidateUp, isWholeShift, type ShiftStatus } from '../status/shift-status.ts'
import { candidateRows } from './status-text.ts'

/** Gets how much of a group goes to its candidate, and prints it; resolves to the exit code. */
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

/** Names the command that an operator needs where the candidate waits for one; null: it waits for none. */
const nextCommand = (
  group: string,
  shift: ShiftStatus,
  isUp: boolean,
  { config, admin }: TargetOptions,
): string | null => {
  // It asks the gateway that this command has asked.
  const ofFile = config === defaultConfigFile ? '' : ` --config ${shellQuote(config)}`
  const target = ofFile + (admin === undefined ? '' : ` --admin ${shellQuote(admin)}`)
  const commandOf = (option: string): string => `${programCommand()} shift ${group} ${option}${target}`
  if (shift.stopped) return `to let clients go there again: ${commandOf('--resume')}`
  if (shift.share > 0 && !isUp) return `no endpoint of it is up; to take its clients back: ${commandOf('--abort')}`
  return isWholeShift(shift) ? `to make it the upstream: ${commandOf('--promote')} prints the file` : null
}
