import { type RecentErrorsResponse, type RecentErrorView, recentErrorsShape } from '../../admin/api/overview.ts'
import { sleep } from '../../clock.ts'
import { parseDuration } from '../../units.ts'
import { getDecoded } from '../client/admin-client.ts'
import { CliError, cliError } from '../client/admin-target.ts'
import { type ClientCommandOptions, locateGateway } from '../client/locate.ts'
import { exitOnBrokenPipe, exitOnSignals } from '../exit.ts'
import { warnAboutTarget } from '../render/output.ts'

/** What the command is given. */
export interface TailOptions extends ClientCommandOptions {
  readonly since?: string
  readonly operation?: string
}

const pollIntervalMs = 1000

/** Prints the requests that a gateway refuses as they come, until the process is ended. Throws {@link CliError} when it cannot be asked at first. */
export const tailRefused = async ({ format, since, operation, ...targetOptions }: TailOptions): Promise<never> => {
  const sinceMs = since === undefined ? 0 : parseDuration(since)
  if (sinceMs === undefined) throw cliError('--since: a duration such as 10m, 30s or 2h is expected')
  const target = await locateGateway(targetOptions)
  const follower = new RefusalFollower()
  const write = format === 'json' ? JSON.stringify : renderRefusal
  const print = async (list: readonly RecentErrorView[]): Promise<void> => {
    const wanted = operation === undefined ? list : list.filter((each) => each.operation === operation)
    if (wanted.length > 0) await writeToStdout(wanted.map((each) => `${write(each)}\n`).join(''))
  }
  exitOnBrokenPipe()
  exitOnSignals()

  const first = await getDecoded(target, '/refused', recentErrorsShape)
  warnAboutTarget(target)
  await print(
    follower.next(first.decoded).fresh.filter((each) => Date.parse(each.at) >= first.at - sinceMs && sinceMs > 0),
  )
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

/** Waits until a reader has taken it: nothing piles up here for one that does not. */
const writeToStdout = (text: string): Promise<void> =>
  new Promise((resolve) => void process.stdout.write(text, () => resolve()))

/** Writes a refused request on a line: when, what the client got, who asked for what, and why. */
const renderRefusal = (refusal: RecentErrorView): string => {
  const { at, requestId, client, clientId, method, operation, endpoint, status, kind, reason, traceId } = refusal
  const who = clientId === null ? client : `${client} (${clientId})`
  const what = `${method ?? 'no request'} ${operation ?? 'none of the nine'}`
  const where = endpoint === null ? '' : `, at ${endpoint}`
  const ids = [`request ${requestId}`, ...(traceId === null ? [] : [`trace ${traceId}`])].join(', ')
  return `${at}  ${status} ${kind}  ${what}  ${who}  ${reason}${where}  [${ids}]`
}

/** Is what is new in what a gateway tells. */
interface NewRefusals {
  /** The oldest first. */
  readonly fresh: readonly RecentErrorView[]
  /** Whether more were refused than are told. */
  readonly missed: boolean
}

// Far more than a gateway remembers, which is 100 of the nine and 100 others: a worker that does not answer for a while tells its own again.
const maxRemembered = 2000

/** Tells what is new in lists that overlap: a gateway tells the last of what it refused each time that it is asked. */
export class RefusalFollower {
  readonly #seen = new Set<string>()
  #total: number | null = null

  /** Takes the next list, the newest first. Of the first, everything is new. */
  next({ refusals, total }: RecentErrorsResponse): NewRefusals {
    const fresh = refusals.filter((each) => !this.#seen.has(refusalKey(each))).toReversed()
    // Of another process, the total has nothing to do with the one before.
    const before = this.#total
    const missed = before !== null && total - before !== fresh.length
    this.#total = total
    for (const each of fresh) this.#seen.add(refusalKey(each))
    for (const key of this.#seen) {
      if (this.#seen.size <= maxRemembered) break
      this.#seen.delete(key)
    }
    return { fresh, missed }
  }
}

const refusalKey = ({ at, requestId, kind }: RecentErrorView): string => JSON.stringify([at, requestId, kind])
