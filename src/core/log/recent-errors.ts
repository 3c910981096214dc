import { describeCause, FailedAttempt, type GatewayError } from '../exchange/failures/errors.ts'
import { failureTable } from '../exchange/failures/failure-table.ts'
import { knownMethods } from '../exchange/node-http.ts'
import { copyText } from '../lib/buffers.ts'
import { epochMs } from '../lib/clock.ts'
import type { ExchangeObserver, ExchangeRecord } from './exchange-record.ts'
import { createBoundedMap, RollingCounter } from './rolling-counter.ts'
import { groupByKey, sum } from './sum-reports.ts'

export type RecentErrorsReport = RecentErrors['report']

/**
 * `path` and `cause` are never shown: a client wrote `path`, an upstream `cause`. Only a broken contract's cause is in
 * the contract's own words.
 */
export type RecentError = ReturnType<typeof toRecentError>

const maxKept = 100

/** The last error responses of the gateway in one process, and a count of each error. */
export class RecentErrors implements ExchangeObserver {
  readonly name = 'rejections'
  readonly #last = createLastErrors()
  readonly #counts = createErrorCounts()
  #total = 0

  record(record: ExchangeRecord): void {
    const { failure } = record
    if (failure === null || failure.kind === 'client-gone') return
    const entry = toRecentError(epochMs(), record, failure)
    this.#last.add(entry)
    this.#total++
    this.#counts.add(entry.at, entry)
  }

  get report() {
    return {
      /** At most 100 with an operation and 100 without, some of each reason. */
      last: this.#last.newestFirst(),
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
  const merged = createLastErrors()
  for (const entry of newestFirst(each.flat()).toReversed()) merged.add(entry)
  return merged.newestFirst()
}

const newestFirst = (entries: readonly RecentError[]): readonly RecentError[] => entries.toSorted((a, b) => b.at - a.at)

const createLastErrors = () => {
  // Kept apart: a scanner of the internet would push out the errors that operators look for.
  const [matched, unmatched] = [createFairList(), createFairList()]
  return {
    add: (entry: RecentError): void => (entry.operation === null ? unmatched : matched).add(entry),
    newestFirst: () => newestFirst([...matched.all(), ...unmatched.all()]),
  }
}

/** A full list drops the oldest entry of the most frequent reason, so a flood of one reason pushes out only itself. */
const createFairList = () => {
  /** Oldest first. */
  const byReason = new Map<string, RecentError[]>()
  let added = 0
  return {
    add(entry: RecentError): void {
      const reason = `${entry.kind} ${entry.reason}`
      const same = byReason.get(reason)
      if (same === undefined) byReason.set(reason, [entry])
      else same.push(entry)
      if (added++ < maxKept) return
      const [most, dropped] = [...byReason].reduce((one, other) => (other[1].length > one[1].length ? other : one))
      dropped.shift()
      if (dropped.length === 0) byReason.delete(most)
    },
    all: () => [...byReason.values()].flat(),
  }
}

// Copies no objects: a library's error may hold its context, a trace holds its exporter.
export const toRecentError = (at: number, record: ExchangeRecord, failure: GatewayError) => ({
  ...toRequestSummary(at, record),
  kind: failure.kind,
  /** A bounded word; null: the kind says it all. */
  reason: failure.reason,
  cause: copyCause(failure),
  /** The attempt that kept the request from being sent on; null: another cause. */
  failedAttempt: failure.cause instanceof FailedAttempt ? failure.cause.report : null,
})

export const toRequestSummary = (at: number, record: ExchangeRecord) => ({
  at,
  requestId: copyText(record.requestId),
  client: copyText(record.client),
  clientId: record.exchange?.identity?.client ?? null,
  method: record.method === null || knownMethods.has(record.method) ? record.method : 'another method',
  path: record.path && copyText(record.path),
  operation: record.exchange?.operation.id ?? null,
  endpoint: record.exchange?.attempts.last?.endpoint ?? null,
  side: record.exchange?.side ?? null,
  fellBack: record.exchange?.attempts.fellBack ?? false,
  status: record.status,
  traceId: record.exchange?.trace ? copyText(record.exchange.trace.traceId) : null,
})

const copyCause = (failure: GatewayError): string | null => {
  const cause = describeCause(failure)
  return cause === undefined ? null : copyText(cause.slice(0, 200))
}

export type ErrorCount = ReturnType<typeof toErrorCount>

type ErrorOccurrence = Pick<RecentError, 'operation' | 'endpoint' | 'kind' | 'reason' | 'cause'>

const maxErrors = 200

interface CountedError {
  readonly counter: RollingCounter
  /** The first occurrence, or the first after 15 minutes without one. */
  readonly metAt: number
  last: ErrorOccurrence
  lastAt: number
}

const createErrorCounts = () => {
  // A client that is rejected in every possible way would leave no room for a dead upstream.
  const ofClients = createBoundedMap<CountedError>(maxErrors, isStale)
  const others = createBoundedMap<CountedError>(maxErrors, isStale)
  return {
    add(at: number, occurrence: ErrorOccurrence): void {
      const pool = failureTable[occurrence.kind].fault === 'client' ? ofClients : others
      const key = errorKey(occurrence)
      let error = pool.get(key)
      if (error === undefined) {
        error = { counter: new RollingCounter(), metAt: at, last: occurrence, lastAt: at }
        if (!pool.add(key, error, at)) return
      }
      error.counter.count(at)
      error.last = occurrence
      error.lastAt = at
    },
    report(at: number): readonly ErrorCount[] {
      for (const pool of [ofClients, others])
        for (const error of pool.values()) if (isStale(error, at)) pool.delete(errorKey(error.last))
      return mostFrequentFirst([...ofClients.values(), ...others.values()].map((error) => toErrorCount(error, at)))
    },
  }
}

const isStale = ({ counter }: CountedError, at: number): boolean => counter.firstAt(at) === null

const errorKey = ({ operation, kind, reason, endpoint }: Omit<ErrorOccurrence, 'cause'>): string =>
  `${operation} ${kind} ${reason} ${endpoint}`

const toErrorCount = ({ last, counter, metAt, lastAt }: CountedError, at: number) => {
  const { firstAt, ...recent } = counter.report(at)
  const { operation, kind, reason, endpoint, cause: detail } = last
  // `firstAt`: to ten seconds, within the last 15 minutes, never before the first occurrence.
  return { operation, kind, reason, endpoint, detail, ...recent, firstAt: Math.max(metAt, firstAt ?? lastAt), lastAt }
}

const mergeErrorCounts = (each: readonly ErrorCount[]): readonly ErrorCount[] =>
  mostFrequentFirst(groupByKey(each, errorKey).map((same) => same.reduce(combine)))

const combine = (one: ErrorCount, other: ErrorCount): ErrorCount => ({
  ...(one.lastAt >= other.lastAt ? one : other),
  lastMinute: one.lastMinute + other.lastMinute,
  last15Min: one.last15Min + other.last15Min,
  firstAt: Math.min(one.firstAt, other.firstAt),
})

const mostFrequentFirst = (counts: readonly ErrorCount[]): readonly ErrorCount[] =>
  counts.toSorted((a, b) => b.lastMinute - a.lastMinute || b.last15Min - a.last15Min)
