import { describeCause, FailedAttempt, type GatewayError } from '../exchange/failures/errors.ts'
import { failureTable } from '../exchange/failures/kinds.ts'
import { knownMethods } from '../exchange/node-http.ts'
import { copyText } from '../lib/buffers.ts'
import { CoalescedTimer, epochMs } from '../lib/clock.ts'
import type { ExchangeObserver, ExchangeRecord } from './exchange-record.ts'
import { BoundedMap, RollingCounter } from './rolling-counter.ts'
import { sum } from './sum-reports.ts'

export type RecentErrorsReport = RecentErrors['report']

/**
 * `path` and `cause` are never shown as they are: a client wrote the one, an upstream the other. Only the cause of a
 * broken contract is the contract's own words.
 */
export type RecentError = ReturnType<typeof toRecentError>

const maxKept = 100

/** Keeps the last error responses of the gateway in one process, and counts each error. */
export class RecentErrors implements ExchangeObserver {
  readonly name = 'refusals'
  // Kept apart: a scanner of the internet would push out what operators look for.
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
      /** Newest first: at most 100 with an operation and 100 without, some of each reason. */
      last: newestFirst([...this.#matched.all, ...this.#unmatched.all]),
      total: this.#total,
      causes: this.#counts.report(epochMs()),
    }
  }
}

export const mergeRecentErrors = (each: readonly RecentErrorsReport[]): RecentErrorsReport => ({
  last: mergeLastErrors(each.map(({ last }) => last)),
  total: sum(each.map(({ total }) => total)),
  causes: mergeErrorCounts(each.flatMap(({ causes }) => causes)),
})

export const mergeLastErrors = (each: readonly RecentErrorsReport['last'][]): RecentErrorsReport['last'] => {
  const matched = createFairList()
  const unmatched = createFairList()
  const oldestFirst = newestFirst(each.flat()).toReversed()
  for (const entry of oldestFirst) (entry.operation === null ? unmatched : matched).add(entry)
  return newestFirst([...matched.all, ...unmatched.all])
}

const createFairList = (): FairList<RecentError> => new FairList(maxKept, ({ kind, reason }) => `${kind} ${reason}`)

const newestFirst = (entries: readonly RecentError[]): readonly RecentError[] => entries.toSorted((a, b) => b.at - a.at)

/**
 * Copies the kept facts, and none of their objects: a library's error may hold its context, a trace holds its exporter,
 * and what a client sent is not for keeping.
 */
const toRecentError = (at: number, record: ExchangeRecord, failure: GatewayError) => ({
  ...toRequestSummary(at, record),
  kind: failure.kind,
  /** A bounded word; null: the kind says it all. */
  reason: failure.reason,
  cause: copyCause(failure),
  /** The attempt that kept the request from being sent on; null: the error has another cause. */
  failedAttempt: failure.cause instanceof FailedAttempt ? failure.cause.report : null,
})

const toRequestSummary = (at: number, record: ExchangeRecord) => ({
  /** In ms since the epoch. */
  at,
  requestId: copyText(record.requestId),
  client: copyText(record.client),
  clientId: record.exchange?.identity?.client ?? null,
  /** Null: no request could be parsed. */
  method: record.method === null || knownMethods.has(record.method) ? record.method : 'another method',
  path: record.path && copyText(record.path),
  operation: record.exchange?.operation.id ?? null,
  endpoint: record.exchange?.attempts.last?.endpoint ?? null,
  /** The side of the client; null: no candidate in use. */
  side: record.exchange?.side ?? null,
  fellBack: record.exchange?.attempts.fellBack ?? false,
  status: record.status,
  traceId: record.exchange?.trace ? copyText(record.exchange.trace.traceId) : null,
})

const copyCause = (failure: GatewayError): string | null => {
  const cause = describeCause(failure)
  return cause === undefined ? null : copyText(cause.slice(0, 200))
}

/**
 * Keeps the last `max` entries, some of each key: a full list drops the oldest entry of its most frequent key, so a
 * flood of one key pushes out only itself. Keys are bounded words.
 */
class FairList<T> {
  readonly #max: number
  readonly #keyOf: (one: T) => string
  /** The oldest first. */
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
    else this.#drop()
  }

  get all(): readonly T[] {
    return [...this.#byKey.values()].flat()
  }

  #drop(): void {
    let key = ''
    let most: T[] = []
    for (const [other, all] of this.#byKey) if (all.length > most.length) [key, most] = [other, all]
    most.shift()
    if (most.length === 0) this.#byKey.delete(key)
  }
}

export type RecentRequestsReport = ReturnType<RecentRequests['watch']>

/** Path and cause are never shown as they are. */
export type RecentRequest = ReturnType<typeof toRecentRequest>

/** The requests of a second, after which `tail` asks again. */
export const maxRequests = 1000

/** Requests are kept this long after each call of `watch`. */
export const watchMs = 10_000

/** Keeps the last requests of a process while an operator runs `tail`; else a request costs one comparison. */
export class RecentRequests implements ExchangeObserver {
  readonly name = 'requests'
  #isWatched = false
  #last: RecentRequest[] = []
  #total = 0
  readonly #unwatched = new CoalescedTimer(() => {
    this.#isWatched = false
    this.#last = []
  })

  record(record: ExchangeRecord): void {
    if (!this.#isWatched) return
    this.#total++
    this.#last.push(toRecentRequest(epochMs(), record))
    if (this.#last.length > maxRequests) this.#last.shift()
  }

  /** Returns the oldest first, and keeps requests for the next {@link watchMs}. */
  watch() {
    this.#isWatched = true
    this.#unwatched.set(watchMs)
    return { last: [...this.#last], total: this.#total }
  }
}

const toRecentRequest = (at: number, record: ExchangeRecord) => ({
  ...toRequestSummary(at, record),
  totalMs: record.totalMs,
  cache: record.exchange?.outcome?.source === 'cache' ? record.exchange.outcome.outcome : null,
  /** Null: the response is an upstream's or the cache's. */
  error: record.failure && toRecentError(at, record, record.failure),
})

/** Times are in ms since the epoch. */
export type ErrorCount = ReturnType<typeof toErrorCount>

/** Every member of the key is one of a bounded number of words. */
type ErrorOccurrence = Pick<RecentError, 'operation' | 'endpoint' | 'kind' | 'reason' | 'cause'>

const maxErrors = 200

interface CountedError {
  readonly counter: RollingCounter
  /** The first occurrence, or the first after 15 minutes without one. */
  readonly metAt: number
  last: ErrorOccurrence
  lastAt: number
}

class ErrorCounts {
  // Kept apart: a client that is rejected in every possible way would leave no room for a dead upstream.
  readonly #clientErrors = new ErrorPool()
  readonly #otherErrors = new ErrorPool()

  add(at: number, occurrence: ErrorOccurrence): void {
    const pool = failureTable[occurrence.kind].fault === 'client' ? this.#clientErrors : this.#otherErrors
    pool.add(at, occurrence)
  }

  report(at: number): readonly ErrorCount[] {
    return mostFrequentFirst(
      [...this.#clientErrors.at(at), ...this.#otherErrors.at(at)].map((error) => toErrorCount(error, at)),
    )
  }
}

class ErrorPool {
  readonly #errors = new BoundedMap<CountedError>(maxErrors, isStale)

  add(at: number, occurrence: ErrorOccurrence): void {
    const key = errorKey(occurrence)
    let error = this.#errors.get(key)
    if (error === undefined) {
      error = { counter: new RollingCounter(), metAt: at, last: occurrence, lastAt: at }
      if (!this.#errors.add(key, error, at)) return
    }
    error.counter.count(at)
    error.last = occurrence
    error.lastAt = at
  }

  at(at: number): readonly CountedError[] {
    for (const error of this.#errors.values) if (isStale(error, at)) this.#errors.delete(errorKey(error.last))
    return this.#errors.values
  }
}

const isStale = ({ counter }: CountedError, at: number): boolean => counter.firstAt(at) === null

const errorKey = ({ operation, kind, reason, endpoint }: Omit<ErrorOccurrence, 'cause'>): string =>
  `${operation} ${kind} ${reason} ${endpoint}`

const toErrorCount = ({ last, counter, metAt, lastAt }: CountedError, at: number) => ({
  operation: last.operation,
  kind: last.kind,
  reason: last.reason,
  endpoint: last.endpoint,
  detail: last.cause,
  lastMinute: counter.countWithin(at, 60_000),
  last15Min: counter.countWithin(at, 900_000),
  /** To ten seconds, within the last 15 minutes, and never before the first occurrence. */
  firstAt: Math.max(metAt, counter.firstAt(at) ?? lastAt),
  lastAt,
})

const mergeErrorCounts = (each: readonly ErrorCount[]): readonly ErrorCount[] =>
  mostFrequentFirst([...Map.groupBy(each, errorKey).values()].map((same) => same.reduce(combine)))

const combine = (one: ErrorCount, other: ErrorCount): ErrorCount => ({
  ...(one.lastAt >= other.lastAt ? one : other),
  lastMinute: one.lastMinute + other.lastMinute,
  last15Min: one.last15Min + other.last15Min,
  firstAt: Math.min(one.firstAt, other.firstAt),
})

const mostFrequentFirst = (counts: readonly ErrorCount[]): readonly ErrorCount[] =>
  counts.toSorted((a, b) => b.lastMinute - a.lastMinute || b.last15Min - a.last15Min)
