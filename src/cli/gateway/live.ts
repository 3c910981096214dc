import { type RefusalView, refusedShape } from '../../admin/overview.ts'
import { type Status, statusShape } from '../../admin/status.ts'
import type { UpstreamStatus } from '../../admin/upstream-status.ts'
import type { Operation } from '../../catalog.ts'
import { get } from './ask.ts'
import { findGateway, type Where } from './find.ts'
import { ago, noteDoubt } from './print.ts'
import { findingsText, limitRows, operationRows, upstreamRows } from './sections.ts'
import { type Row, table } from './table.ts'
import { type Target, Unasked, urlOf } from './target.ts'

/** Is what is so of one operation just now. */
export interface Live {
  readonly url: string
  /** By the gateway's clock, in ms since the epoch. */
  readonly at: number
  /** The hash of what runs. */
  readonly hash: string
  /** What is said of it beside that it serves. */
  readonly operation: Status['operations'][string] | null
  readonly upstream: UpstreamStatus | null
  readonly limits: Status['limits']
  /** What is wrong with it, or with its group. */
  readonly findings: Status['findings']
  readonly failures: readonly Failures[]
}

/** Asks how it stands with an operation. */
const liveOf = async (target: Target, { id, group }: Operation): Promise<Live> => {
  const [{ told, at }, last] = await Promise.all([
    get(target, '/status', statusShape),
    get(target, '/refused', refusedShape),
  ])
  noteDoubt(target, told.version)
  const owners = [`upstreams.${group}`, `operations.${id}`, 'limits', 'auth', 'process', 'workers']
  const concerns = (about: string): boolean => owners.some((one) => about === one || about.startsWith(`${one}.`))
  return {
    url: urlOf(target),
    at,
    hash: told.config.hash,
    operation: told.operations[id] ?? null,
    upstream: told.upstreams[group] ?? null,
    limits: limitsOf(told.limits, [`upstreams.${group}`, `operations.${id}`, 'limits']),
    findings: told.findings.filter(({ about }) => concerns(about)),
    failures: failuresOf(last.told.refusals, id, at),
  }
}

/** Keeps the bounds that it has to pass. */
const limitsOf = ({ concurrency, eventLoop }: Status['limits'], owners: readonly string[]): Status['limits'] => ({
  rate: null,
  concurrency: concurrency.filter(({ key }) => owners.some((owner) => key === `${owner}.concurrency`)),
  eventLoop: eventLoop?.sheds ? eventLoop : null,
})

/** Is how often an operation failed in one way of late. */
interface Failures extends Pick<RefusalView, 'status' | 'kind' | 'reason' | 'endpoint'> {
  readonly count: number
  /** When it did last. */
  readonly last: string
}

const withinMs = 15 * 60_000

/** Counts in which ways an operation failed within the last quarter of an hour, as far as the gateway remembers; the most frequent first. */
const failuresOf = (refusals: readonly RefusalView[], id: string, at: number): readonly Failures[] => {
  const own = refusals.filter((each) => each.operation === id && at - Date.parse(each.at) <= withinMs)
  const ways = Map.groupBy(own, ({ status, kind, reason, endpoint }) =>
    JSON.stringify([status, kind, reason, endpoint]),
  )
  return [...ways.values()]
    .flatMap((same): readonly Failures[] => {
      const [newest] = same
      if (newest === undefined) return []
      const { status, kind, reason, endpoint, at: last } = newest
      return [{ status, kind, reason, endpoint, count: same.length, last }]
    })
    .toSorted((a, b) => b.count - a.count)
}

/** Writes what is so just now, below what the file says; `fileHash` is of the latter. */
export const liveText = (live: Live, { id, group }: Operation, fileHash: string): string => {
  const { url, at, hash, operation, upstream, limits, findings, failures } = live
  const differs = hash === fileHash ? '' : ', which is NOT WHAT THE FILE SAYS: diff shows it'
  const bounds = limitRows(limits, at)
  const sections = [
    `just now, by ${url}: it runs ${hash}${differs}`,
    ...(findings.length > 0 ? [findingsText(findings, at)] : []),
    ...(operation === null ? [] : [table(operationRows({ [id]: operation }, at))]),
    ...(upstream === null ? [] : [table(upstreamRows({ [group]: upstream }, at))]),
    ...(bounds.length > 1 ? [table(bounds)] : []),
    failures.length === 0 ? 'no failure of it in the last 15 minutes' : table(failureRows(live)),
  ]
  return `\n${sections.join('\n\n')}\n`
}

const failureRows = ({ failures, at }: Live): readonly Row[] => [
  ['failures', 'last', 'what'],
  ...failures.map(({ count, last, status, kind, reason, endpoint }): Row => {
    const where = endpoint === null ? '' : `, at ${endpoint}`
    return [`${count}`, ago(last, at), `${status} ${kind}: ${reason}${where}`]
  }),
]

/** Asks how it stands with what was explained; null: it is none of the nine, or nobody could be asked, which is said on stderr with exit code 2. */
export const askLive = async (operation: Operation | null, where: Where): Promise<Live | null> => {
  if (operation === null) return null
  try {
    const target = await findGateway(where)
    return await liveOf(target, operation)
  } catch (error) {
    if (!(error instanceof Unasked)) throw error
    process.stderr.write(`lender-gateway: ${error.message}\n`)
    process.exitCode = 2
    return null
  }
}
