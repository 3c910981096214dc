import { configShape } from '../../admin/configuration.ts'
import { type Status, statusShape } from '../../admin/status.ts'
import type { Group } from '../../catalog.ts'
import { type Change, changedGroups, difference } from '../../config/diff.ts'
import { loadConfig } from '../../config/load.ts'
import { formatProblems, type Problem } from '../../config/problem.ts'
import { get } from './ask.ts'
import { changesText } from './changes-text.ts'
import { type AskOptions, findGateway } from './find.ts'
import { noteDoubt, printJson } from './print.ts'
import { upstreamRows } from './sections.ts'
import { table } from './table.ts'
import type { Target } from './target.ts'

/** Compares what a gateway runs with a file and prints what differs; resolves to the exit code. */
export const compare = async (
  file: string,
  { format, live: isLive, ...where }: AskOptions & { readonly live?: true },
): Promise<number> => {
  const loaded = loadConfig(file)
  if (!loaded.ok) {
    const { problems, unreadable } = loaded
    if (format === 'json') printJson(comparison(file, null, null, [], problems))
    else process.stdout.write(formatProblems(problems))
    return unreadable ? 2 : 1
  }

  const target = await findGateway(where)
  const { told: now } = await get(target, '/config', configShape)
  noteDoubt(target)
  const { hash } = loaded.config
  const changes = difference(now, loaded.report)
  const live = isLive ? await standing(target, changedGroups(changes)) : null
  if (format === 'json')
    printJson({ ...comparison(file, now.hash, hash, changes, []), ...(live && { live: live.upstreams }) })
  else process.stdout.write(asText(file, now.hash, hash, changes) + (live === null ? '' : liveText(live)))
  return now.hash === hash ? 0 : 1
}

/** Is how it stands with some groups just now. */
interface Standing {
  readonly upstreams: Status['upstreams']
  readonly at: number
}

const standing = async (target: Target, groups: readonly Group[]): Promise<Standing> => {
  const { told, at } = await get(target, '/status', statusShape)
  const upstreams = Object.entries(told.upstreams).filter(([group]) => groups.some((each) => each === group))
  return { upstreams: Object.fromEntries(upstreams), at }
}

const liveText = ({ upstreams, at }: Standing): string =>
  Object.keys(upstreams).length === 0 ? '' : `\njust now\n\n${table(upstreamRows(upstreams, at))}\n`

const comparison = (
  file: string,
  from: string | null,
  to: string | null,
  changes: readonly Change[],
  problems: readonly Problem[],
) => ({ same: from === null ? null : from === to, file, from, to, changes, problems })

const asText = (file: string, from: string, to: string, changes: readonly Change[]): string => {
  if (from === to) return `no difference: ${file} says what runs (hash ${to})\n`
  const told =
    changes.length === 0 ? 'nothing that can be shown: the gateway is of another version\n' : changesText(changes)
  return `what runs ${from} → ${file} ${to}\n\n${told}`
}
