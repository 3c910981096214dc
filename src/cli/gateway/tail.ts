import { type RefusalView, type Refused, refusedShape } from '../../admin/overview.ts'
import { pause } from '../../clock.ts'
import { parseDuration } from '../../units.ts'
import { endOnSignals, endWithReader } from '../pipe.ts'
import { get } from './ask.ts'
import { type AskOptions, findGateway } from './find.ts'
import { noteDoubt } from './print.ts'
import { Unasked, unasked } from './target.ts'

/** What the command is given. */
export interface TailOptions extends AskOptions {
  readonly since?: string
  readonly operation?: string
}

const everyMs = 1000

/** Prints the requests that a gateway refuses as they come, until the process is ended. Throws {@link Unasked} when it cannot be asked at first. */
export const tailRefused = async ({ format, since, operation, ...where }: TailOptions): Promise<never> => {
  const sinceMs = since === undefined ? 0 : parseDuration(since)
  if (sinceMs === undefined) throw unasked('--since: a duration such as 10m, 30s or 2h is expected')
  const target = await findGateway(where)
  const follow = new Follow()
  const write = format === 'json' ? JSON.stringify : refusalText
  const print = async (list: readonly RefusalView[]): Promise<void> => {
    const wanted = operation === undefined ? list : list.filter((each) => each.operation === operation)
    if (wanted.length > 0) await written(wanted.map((each) => `${write(each)}\n`).join(''))
  }
  endWithReader()
  endOnSignals()

  const first = await get(target, '/refused', refusedShape)
  noteDoubt(target)
  await print(follow.next(first.told).fresh.filter((each) => Date.parse(each.at) >= first.at - sinceMs && sinceMs > 0))
  let lastAt = first.at
  let trouble: string | null = null
  for (;;) {
    await pause(everyMs)
    const next = await get(target, '/refused', refusedShape).catch((error: unknown) => {
      if (error instanceof Unasked) return error.message
      throw error
    })
    if (typeof next === 'string') {
      if (trouble === null) note(`${next}; it is asked again every second`)
      trouble = next
      continue
    }
    const { fresh, missed } = follow.next(next.told)
    if (trouble !== null) note('it answers again')
    if (missed)
      note(
        `some of what was refused since ${new Date(lastAt).toISOString()} may be missing: it restarted, or there was too much`,
      )
    trouble = null
    lastAt = next.at
    await print(fresh)
  }
}

const note = (text: string): void => void process.stderr.write(`lender-gateway: ${text}\n`)

/** Waits until a reader has taken it: nothing piles up here for one that does not. */
const written = (text: string): Promise<void> =>
  new Promise((resolve) => void process.stdout.write(text, () => resolve()))

/** Writes a refused request on a line: when, what the client got, who asked for what, and why. */
const refusalText = (refusal: RefusalView): string => {
  const { at, requestId, client, clientId, method, operation, endpoint, status, kind, reason, traceId } = refusal
  const who = clientId === null ? client : `${client} (${clientId})`
  const what = `${method ?? 'no request'} ${operation ?? 'none of the nine'}`
  const where = endpoint === null ? '' : `, at ${endpoint}`
  const ids = [`request ${requestId}`, ...(traceId === null ? [] : [`trace ${traceId}`])].join(', ')
  return `${at}  ${status} ${kind}  ${what}  ${who}  ${reason}${where}  [${ids}]`
}

/** Is what is new in what a gateway tells. */
interface Fresh {
  /** The oldest first. */
  readonly fresh: readonly RefusalView[]
  /** Whether more were refused than are told. */
  readonly missed: boolean
}

// Far more than a gateway remembers, which is 100 of the nine and 100 others: a worker that does not answer for a while tells its own again.
const remembered = 2000

/** Tells what is new in lists that overlap: a gateway tells the last of what it refused each time that it is asked. */
export class Follow {
  readonly #seen = new Set<string>()
  #total: number | null = null

  /** Takes the next list, the newest first. Of the first, everything is new. */
  next({ refusals, total }: Refused): Fresh {
    const fresh = refusals.filter((each) => !this.#seen.has(keyOf(each))).toReversed()
    // Of another process, the total has nothing to do with the one before.
    const before = this.#total
    const missed = before !== null && total - before !== fresh.length
    this.#total = total
    for (const each of fresh) this.#seen.add(keyOf(each))
    for (const key of this.#seen) {
      if (this.#seen.size <= remembered) break
      this.#seen.delete(key)
    }
    return { fresh, missed }
  }
}

const keyOf = ({ at, requestId, kind }: RefusalView): string => JSON.stringify([at, requestId, kind])
