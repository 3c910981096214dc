import {
  describeUnmatched,
  type RecentErrorsResponse,
  type RecentErrorView,
  recentErrorsShape,
} from '../../admin/api/recent-errors.ts'
import { sleep } from '../../clock.ts'
import { parseDuration } from '../../units.ts'
import { getDecoded } from '../client/admin-client.ts'
import { CliError, cliError } from '../client/admin-target.ts'
import { type ClientCommandOptions, locateGateway } from '../client/locate.ts'
import { exitOnBrokenPipe, exitOnSignals } from '../exit.ts'
import { warnAboutTarget, writeToStdout } from '../render/output.ts'

/** The options of `tail`. */
export interface TailOptions extends ClientCommandOptions {
  readonly since?: string
  readonly operation?: string
}

const pollIntervalMs = 1000

/**
 * Prints the rejected requests of a gateway as they come, until the process ends. Throws {@link CliError} when the
 * gateway cannot be asked at first.
 */
export const tailRefused = async ({ format, since, operation, ...targetOptions }: TailOptions): Promise<never> => {
  const sinceMs = since === undefined ? 0 : parseDuration(since)
  if (sinceMs === undefined) throw cliError('--since: a duration such as 10m, 30s or 2h is expected')
  const target = await locateGateway(targetOptions)
  const follower = new RefusalFollower()
  const write = format === 'json' ? JSON.stringify : renderRefusal
  const print = async (list: readonly RecentErrorView[]): Promise<void> => {
    const wanted = operation === undefined ? list : list.filter((refusal) => refusal.operation === operation)
    if (wanted.length > 0) await writeToStdout(wanted.map((refusal) => `${write(refusal)}\n`).join(''))
  }
  exitOnBrokenPipe()
  exitOnSignals()

  const first = await getDecoded(target, '/refused', recentErrorsShape)
  warnAboutTarget(target)
  const { fresh: before } = follower.next(first.decoded)
  await print(before.filter(({ at }) => Date.parse(at) >= first.at - sinceMs && sinceMs > 0))
  let lastAt = first.at
  let lastFailure: string | null = null
  for (;;) {
    await sleep(pollIntervalMs)
    const next = await getDecoded(target, '/refused', recentErrorsShape).catch((error: unknown) => {
      if (error instanceof CliError) return error.message
      throw error
    })
    if (typeof next === 'string') {
      if (lastFailure === null) printNote(`${next}; it is asked again every second`)
      lastFailure = next
      continue
    }
    const { fresh, missed } = follower.next(next.decoded)
    if (lastFailure !== null) printNote('it answers again')
    if (missed)
      printNote(
        `some of what was refused since ${new Date(lastAt).toISOString()} may be missing: it restarted, or there was too much`,
      )
    lastFailure = null
    lastAt = next.at
    await print(fresh)
  }
}

const printNote = (text: string): void => void process.stderr.write(`lender-gateway: ${text}\n`)

/** Renders a rejected request in one line: time, status, request, client and reason. */
const renderRefusal = (refusal: RecentErrorView): string => {
  const { at, requestId, client, clientId, method, operation, endpoint, status, kind, reason, traceId } = refusal
  const who = clientId === null ? client : `${client} (${clientId})`
  const what = operation === null ? describeUnmatched(refusal) : `${method} ${operation}`
  const where = [...(endpoint === null ? [] : [`, at ${endpoint}`]), renderSide(refusal)].join('')
  const ids = [`request ${requestId}`, ...(traceId === null ? [] : [`trace ${traceId}`])].join(', ')
  return `${at}  ${status} ${kind}  ${what}  ${who}  ${reason}${where}  [${ids}]`
}

/** Describes the side of a request's client; empty: its group has no candidate in use. */
const renderSide = ({ side, fellBack }: RecentErrorView): string => {
  if (side === null) return ''
  return fellBack ? ', on the candidate and then the primary' : `, on the ${side}`
}

/** The new entries of a list. */
interface NewRefusals {
  /** In order of time, the oldest first. */
  readonly fresh: readonly RecentErrorView[]
  /** Whether the list has lost some that came since the one before. */
  readonly missed: boolean
}

// Far more than a gateway remembers, which is 100 of the nine and 100 others: entries of a worker that was silent for a
// while come again.
const maxRemembered = 2000

/** Finds the new entries of lists that overlap: each response of a gateway has its last rejections. */
export class RefusalFollower {
  readonly #seen = new Set<string>()
  #total: number | null = null

  /** Takes the next list, the newest first. All of the first list is new. */
  next({ refusals, total }: RecentErrorsResponse): NewRefusals {
    const fresh = refusals.filter((refusal) => !this.#seen.has(refusalKey(refusal))).toReversed()
    // The total of another process is unrelated to the one before: `missed` then reports a gap.
    const before = this.#total
    const missed = before !== null && total - before !== fresh.length
    this.#total = total
    for (const key of refusals.map(refusalKey).reverse()) {
      this.#seen.delete(key) // what is still listed is forgotten last
      this.#seen.add(key)
    }
    for (const key of this.#seen) {
      if (this.#seen.size <= maxRemembered) break
      this.#seen.delete(key)
    }
    return { fresh, missed }
  }
}

const refusalKey = ({ at, requestId, kind }: RecentErrorView): string => JSON.stringify([at, requestId, kind])
