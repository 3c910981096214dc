import type { Group } from '../../../operations.ts'
import { configShape } from '../../admin/api/config-responses.ts'
import { statusShape } from '../../admin/api/status.ts'
import { upstreamRows } from '../../admin/api/status-rows.ts'
import { changedGroups, diffReports } from '../../config/diff/diff-reports.ts'
import type { ConfigChange } from '../../config/diff/diff-values.ts'
import { readConfig } from '../../config/load/load.ts'
import { type ConfigProblem, formatProblems } from '../../config/problem.ts'
import { formatTable } from '../../lib/text/table.ts'
import type { Status } from '../../runtime/status/status-part.ts'
import { getDecoded } from '../client/admin-client.ts'
import { type AdminTarget, type ClientCommandOptions, locateGateway } from '../client/admin-target.ts'
import { renderChanges } from '../render/config-diff.ts'
import { printJson, warnAboutTarget } from '../render/output.ts'

export const showDiff = async (
  file: string,
  { format, live: isLive, ...targetOptions }: ClientCommandOptions & { readonly live?: true },
): Promise<number> => {
  const loaded = await readConfig(file)
  if (!loaded.ok) {
    const { problems, unreadable } = loaded
    if (format === 'json') printJson(toDiffJson(file, null, null, [], problems))
    else process.stdout.write(formatProblems(problems))
    return unreadable ? 2 : 1
  }

  const target = await locateGateway(targetOptions)
  const { decoded: runningConfig } = await getDecoded(target, '/config', configShape)
  warnAboutTarget(target)
  const { hash } = loaded.config
  const changes = diffReports(runningConfig, loaded.report)
  const live = isLive ? await fetchLiveUpstreams(target, changedGroups(changes)) : null
  if (format === 'json')
    printJson({ ...toDiffJson(file, runningConfig.hash, hash, changes, []), ...(live && { live: live.upstreams }) })
  else
    process.stdout.write(
      renderDiff(file, runningConfig.hash, hash, changes) + (live === null ? '' : renderLiveUpstreams(live)),
    )
  return runningConfig.hash === hash ? 0 : 1
}

const fetchLiveUpstreams = async (target: AdminTarget, groups: readonly Group[]) => {
  const { decoded: status, at } = await getDecoded(target, '/status', statusShape)
  const upstreams = Object.entries(status.upstreams).filter(([group]) => groups.some((each) => each === group))
  return { upstreams: Object.fromEntries(upstreams) as Status['upstreams'], at }
}

const renderLiveUpstreams = ({ upstreams, at }: Awaited<ReturnType<typeof fetchLiveUpstreams>>): string =>
  Object.keys(upstreams).length === 0 ? '' : `\njust now\n\n${formatTable(upstreamRows(upstreams, at))}\n`

const toDiffJson = (
  file: string,
  from: string | null,
  to: string | null,
  changes: readonly ConfigChange[],
  problems: readonly ConfigProblem[],
) => ({ same: from === null ? null : from === to, file, from, to, changes, problems })

const renderDiff = (file: string, from: string, to: string, changes: readonly ConfigChange[]): string => {
  if (from === to) return `no difference: ${file} is the running configuration (hash ${to})\n`
  const changesSection =
    changes.length === 0 ? 'nothing that can be shown: the gateway is of another version\n' : renderChanges(changes)
  return `running ${from} → ${file} ${to}\n\n${changesSection}`
}
