import { describeShift } from '../../admin/api/shift-status.ts'
import { statusShape } from '../../admin/api/status.ts'
import { getDecoded } from '../client/admin-client.ts'
import { targetUrl } from '../client/admin-target.ts'
import { type ClientCommandOptions, locateGateway } from '../client/locate.ts'
import { printJson, warnAboutTarget } from '../render/output.ts'
import { candidateRows, timesBeside } from '../render/status-sections.ts'
import { formatTable } from '../render/table.ts'

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
  }
  return 0
}
