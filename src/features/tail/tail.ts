import { describeUnmatched, type RecentErrorView, recentErrorsShape } from '../../core/admin/api/recent-errors.ts'
import { getDecoded } from '../../core/cli/client/admin-client.ts'
import { CliError, type ClientCommandOptions, cliError, locateGateway } from '../../core/cli/client/admin-target.ts'
import { exitOnBrokenPipe, exitOnSignals } from '../../core/cli/exit.ts'
import { warnAboutTarget, writeToStdout } from '../../core/cli/render/output.ts'
import { sleep } from '../../core/lib/clock.ts'
import { durations } from '../../core/lib/text/units.ts'
import { type RecentRequestView, recentRequestsShape, renderServed } from './recent-requests.ts'

export interface TailOptions extends ClientCommandOptions {
  readonly rejected?: true
  readonly since?: string
  readonly operation?: string
  readonly client?: string
}

const pollIntervalMs = 1000

export const tailRequests = async (options: TailOptions): Promise<never> => {
  const { format, since, operation, client, rejected, ...targetOptions } = options
  const sinceMs = since === undefined ? 0 : durations.parse(since)
  if (sinceMs === undefined) throw cliError('--since: a duration such as 10m, 30s or 2h is expected')
  const target = await locateGateway(targetOptions)
  const follower = new RequestFollower()
  const write = format === 'json' ? JSON.stringify : renderRequest
  const print = async (list: readonly TailEntry[]): Promise<void> => {
    const wanted = list.filter(
      (each) =>
        (operation === undefined || each.operation === operation) &&
        (client === undefined || each.clientId === client || each.client === client),
    )
    if (wanted.length > 0) await writeToStdout(wanted.map((each) => `${write(each)}\n`).join(''))
  }
  const askForRejections = async (): Promise<TailReply> => {
    const { decoded, at } = await getDecoded(target, '/rejected', recentErrorsShape)
    return { at, entries: decoded.rejections, total: decoded.total }
  }
  const askForAll = async (): Promise<TailReply> => {
    const { decoded, at } = await getDecoded(target, '/requests', recentRequestsShape)
    return { at, entries: decoded.requests, total: decoded.total }
  }
  const ask = rejected ? askForRejections : askForAll
  exitOnBrokenPipe()
  exitOnSignals()

  // A gateway keeps only rejections while no operator watches.
  const earlier = sinceMs > 0 && !rejected ? await askForRejections() : null
  const first = await ask()
  warnAboutTarget(target)
  follower.next(first)
  const before = sinceMs > 0 ? (earlier ?? first).entries : []
  await print(before.toReversed().filter(({ at }) => Date.parse(at) >= first.at - sinceMs))
  let lastAt = first.at
  let lastFailure: string | null = null
  for (;;) {
    await sleep(pollIntervalMs)
    const next = await ask().catch((error: unknown) => {
      if (error instanceof CliError) return error.message
      throw error
    })
    if (typeof next === 'string') {
      if (lastFailure === null) printNote(`${next}; the gateway is asked again every second`)
      lastFailure = next
      continue
    }
    const { fresh, missed } = follower.next(next)
    if (lastFailure !== null) printNote('the gateway responds again')
    if (missed)
      printNote(
        `${rejected ? 'rejections' : 'requests'} since ${new Date(lastAt).toISOString()} may be missing: ` +
          'the gateway restarted, or had too many',
      )
    lastFailure = null
    lastAt = next.at
    await print(fresh)
  }
}

const printNote = (text: string): void => void process.stderr.write(`lender-gateway: ${text}\n`)

const renderRequest = (entry: TailEntry): string => {
  const { at, requestId, client, clientId, method, operation, endpoint, status, kind, reason, traceId } = entry
  const who = clientId === null ? client : `${client} (${clientId})`
  const what = operation === null ? describeUnmatched({ method, kind }) : `${method} ${operation}`
  const where = [...(endpoint === null ? [] : [`, at ${endpoint}`]), renderSide(entry)].join('')
  const ids = [`request ${requestId}`, ...(traceId === null ? [] : [`trace ${traceId}`])].join(', ')
  const served = 'totalMs' in entry ? renderServed(entry) : ''
  const outcome = kind === null ? status : `${status} ${kind}`
  return `${at}  ${outcome}  ${what}  ${who}  ${reason ?? served}${where}  [${ids}]`
}

const renderSide = ({ side, fellBack }: TailEntry): string => {
  if (side === null) return ''
  return fellBack ? ', on the candidate and then the primary' : `, on the ${side}`
}

type TailEntry = RecentRequestView | RecentErrorView

interface TailReply {
  readonly at: number
  readonly entries: readonly TailEntry[]
  readonly total: number
}

// Far more than the 200 rejections of a gateway: entries of a worker that was silent for a while come again.
const minRemembered = 2000

/** Each response lists the last requests, so lists overlap. */
export class RequestFollower {
  readonly #seen = new Set<string>()
  #total: number | null = null

  /** The oldest first. All of the first list is new. */
  next({ entries, total }: Pick<TailReply, 'entries' | 'total'>) {
    const fresh = entries.filter((entry) => !this.#seen.has(entryKey(entry))).toReversed()
    // Another process has an unrelated total: `missed` then reports a gap.
    const before = this.#total
    const missed = before !== null && total - before !== fresh.length
    this.#total = total
    this.#remember(entries)
    return { fresh, missed }
  }

  #remember(entries: readonly TailEntry[]): void {
    for (const key of entries.map(entryKey).reverse()) {
      this.#seen.delete(key) // entries still listed are forgotten last
      this.#seen.add(key)
    }
    const max = Math.max(minRemembered, 2 * entries.length)
    for (const key of this.#seen) {
      if (this.#seen.size <= max) break
      this.#seen.delete(key)
    }
  }
}

const entryKey = ({ at, requestId, kind }: TailEntry): string => JSON.stringify([at, requestId, kind])
