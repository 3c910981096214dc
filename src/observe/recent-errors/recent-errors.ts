import { epochMs } from '../../clock.ts'
import { describeCause, FailedAttempt, type GatewayError } from '../../failures/errors.ts'
import { METHODS } from '../../node-http.ts'
import type { ExchangeObserver, ExchangeRecord } from '../exchange-record.ts'
import { sum } from '../sum-reports.ts'
import { ErrorCounts, mergeErrorCounts } from './error-counts.ts'

/** What the gateway answered with an error of its own of late, as plain data. */
export type RecentErrorsReport = RecentErrors['report']

/**
 * One of them. Its `path` and `cause` are for reading, not for showing: what a client wrote is in the one, an upstream
 * in the other.
 */
export type RecentError = ReturnType<typeof toRecentError>

const maxKept = 100

/** Keeps the last requests that one process answered with an error of its own, and how often each cause came of late. */
export class RecentErrors implements ExchangeObserver {
  readonly name = 'refusals'
  // Apart, or whoever scans the internet would push out what operators look for.
  readonly #matched = createFairList()
  readonly #unmatched = createFairList()
  readonly #counts = new ErrorCounts()
  #total = 0

  record(record: ExchangeRecord): void {
    const { failure, exchange } = record
    if (failure === null || failure.kind === 'client-gone') return
    const entry = toRecentError(epochMs(), record, failure)
    const list = exchange === null ? this.#unmatched : this.#matched
    list.add(entry)
    this.#total++
    this.#counts.add(entry.at, entry)
  }

  get report() {
    return {
      /** Newest first: at most 100 of the nine, and 100 that were none of them, and of each reason some. */
      last: newestFirst([...this.#matched.all, ...this.#unmatched.all]),
      /** How many there were since the start. */
      total: this.#total,
      causes: this.#counts.report(epochMs()),
    }
  }
}

/** Makes one report of what several processes have refused. */
export const mergeRecentErrors = (each: readonly RecentErrorsReport[]): RecentErrorsReport => {
  const matched = createFairList()
  const unmatched = createFairList()
  const oldestFirst = newestFirst(each.flatMap(({ last }) => last)).toReversed()
  for (const entry of oldestFirst) (entry.operation === null ? unmatched : matched).add(entry)
  return {
    last: newestFirst([...matched.all, ...unmatched.all]),
    total: sum(each.map(({ total }) => total)),
    causes: mergeErrorCounts(each.flatMap(({ causes }) => causes)),
  }
}

/** Makes a list that keeps some of each reason. */
const createFairList = (): FairList<RecentError> => new FairList(maxKept, ({ kind, reason }) => `${kind} ${reason}`)

const newestFirst = (entries: readonly RecentError[]): readonly RecentError[] => entries.toSorted((a, b) => b.at - a.at)

/**
 * Makes what is kept of a refusal: none of the objects that it came of. An error of Node's parser has the whole packet, one of a library may have
 * what it was thrown in, a trace has where its spans go; and what a client sent is not for keeping.
 */
const toRecentError = (at: number, record: ExchangeRecord, failure: GatewayError) => ({
  /** Milliseconds since the epoch. */
  at,
  requestId: record.requestId,
  /** The client's address. */
  client: copyText(record.client),
  /** Null: nobody asked, or nobody knows. */
  clientId: record.exchange?.identity?.client ?? null,
  /** Null: no request could be parsed. */
  method: record.method === null || knownMethods.has(record.method) ? record.method : 'another method',
  path: record.path && copyText(record.path),
  operation: record.exchange?.operation.id ?? null,
  endpoint: record.exchange?.attempt?.endpoint ?? null,
  status: record.status,
  kind: failure.kind,
  /** A bounded word; null: the kind says it all. */
  reason: failure.reason,
  cause: copyCause(failure),
  /** The attempt because of which nothing was sent; null: something was, or it is not because of one. */
  failedAttempt: failure.cause instanceof FailedAttempt ? failure.cause.report : null,
  traceId: record.exchange?.trace ? copyText(record.exchange.trace.traceId) : null,
})

const copyCause = (failure: GatewayError): string | null => {
  const cause = describeCause(failure)
  return cause === undefined ? null : copyText(cause.slice(0, 200))
}

/** Copies text: what was cut out of a field or a target keeps all of that in memory, which may be a megabyte. */
const copyText = (text: string): string => Buffer.from(text).toString()

const knownMethods: ReadonlySet<string> = new Set(METHODS)

/**
 * Keeps the last of what is added, so many and no more, and some of each key: what is full gives up the oldest of the key that it has most
 * of. A flood of one key then pushes out only itself. Keys are bounded words.
 */
class FairList<T> {
  readonly #max: number
  readonly #keyOf: (one: T) => string
  /** By key, the oldest first. */
  readonly #byKey = new Map<string, T[]>()
  #size = 0

  constructor(max: number, keyOf: (one: T) => string) {
    this.#max = max
    this.#keyOf = keyOf
  }

  add(one: T): void {
    const key = this.#keyOf(one)
    const same = this.#byKey.get(key)
    if (same === undefined) this.#byKey.set(key, [one])
    else same.push(one)
    if (this.#size < this.#max) this.#size++
    else this.#drop(key, same)
  }

  /** All that is kept, those of one key together. */
  get all(): readonly T[] {
    return [...this.#byKey.values()].flat()
  }

  #drop(added: string, same: T[] | undefined): void {
    // One that has its share already gives up its own, so a flood looks no further.
    const hasShare = same !== undefined && same.length * this.#byKey.size > this.#max
    const key = hasShare ? added : this.#largest()
    const all = this.#byKey.get(key) ?? []
    all.shift()
    if (all.length === 0) this.#byKey.delete(key)
  }

  #largest(): string {
    let found = ''
    let largest = 0
    for (const [key, { length }] of this.#byKey) if (length > largest) [found, largest] = [key, length]
    return found
  }
}
