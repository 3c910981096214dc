import type { OperationId } from '../../catalog.ts'
import type { Kind } from '../../failures/kinds.ts'
import type { AuthMethod, Reason } from '../../failures/reasons.ts'
import type { SpanCounts } from '../tracing/trouble.ts'
import { addHistograms, type HistogramReport } from './histogram.ts'

/** Names an operation, or `none`: what was turned away before it was one of the nine. */
export type Metered = OperationId | 'none'

/** Is what a process has counted since it started, as plain data. What was never seen is not there. */
export interface MeterReport {
  readonly operations: Readonly<Record<Metered, OperationReport>>
  /** What became of spans. */
  readonly spans: Readonly<SpanCounts>
  /** Requests by the id of the client and the class of the status; empty unless asked for. */
  readonly clients: readonly { readonly client: string; readonly statusClass: number; readonly count: number }[]
}

/** Says why an attempt failed: its reason, its kind where that says it all, or a `status` that counts as a failure. */
export type AttemptFailure = Reason | Kind | 'status'

/** Is what was counted of one operation. */
export interface OperationReport {
  readonly inFlight: number
  readonly requests: readonly {
    /** The first digit of the status. */
    readonly statusClass: number
    /** Null: the gateway had nothing to object to. */
    readonly failure: Kind | null
    readonly count: number
  }[]
  /** Of the failures, those that have a reason, and of whose credential they are. */
  readonly reasons: readonly {
    readonly failure: Kind
    readonly reason: Reason
    readonly method: AuthMethod | null
    readonly count: number
  }[]
  /** Attempts at endpoints that failed, those among them that another attempt made good. */
  readonly attemptFailures: readonly { readonly reason: AttemptFailure; readonly count: number }[]
  /** How many were let in by each way to prove who calls. */
  readonly proved: readonly { readonly method: AuthMethod; readonly count: number }[]
  /** How many attempts there were after the first. */
  readonly retries: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly total: HistogramReport
  readonly firstByte: HistogramReport
  readonly upstream: HistogramReport
}

/** Takes out what is so just now, of a process that is gone. */
export const atRest = ({ operations, spans, ...counted }: MeterReport): MeterReport => ({
  ...counted,
  spans: { ...spans, trouble: null },
  operations: Object.fromEntries(
    Object.entries(operations).map(([name, each]) => [name, { ...each, inFlight: 0 }]),
  ) as unknown as MeterReport['operations'],
})

/** Adds up what several processes have counted; at least one. */
export const addMeters = (each: readonly MeterReport[]): MeterReport => {
  const [first] = each
  if (first === undefined || each.length === 1) return first as MeterReport
  const names = Object.keys(first.operations) as Metered[]
  return {
    operations: Object.fromEntries(
      names.map((name) => [name, addOperations(each.map(({ operations }) => operations[name]))]),
    ) as MeterReport['operations'],
    spans: {
      exported: sumOf(each, ({ spans }) => spans.exported),
      dropped: sumOf(each, ({ spans }) => spans.dropped),
      failed: sumOf(each, ({ spans }) => spans.failed),
      trouble: each.find(({ spans }) => spans.trouble !== null)?.spans.trouble ?? null,
    },
    clients: addCounts(
      each.flatMap(({ clients }) => clients),
      ({ client, statusClass }) => `${statusClass} ${client}`,
    ),
  }
}

const sumOf = <T>(each: readonly T[], read: (one: T) => number): number => each.reduce((sum, one) => sum + read(one), 0)

const addOperations = (each: readonly OperationReport[]): OperationReport => {
  const total = (read: (one: OperationReport) => number): number => sumOf(each, read)
  return {
    inFlight: total(({ inFlight }) => inFlight),
    requests: addCounts(
      each.flatMap(({ requests }) => requests),
      ({ statusClass, failure }) => `${statusClass} ${failure}`,
    ),
    reasons: addCounts(
      each.flatMap(({ reasons }) => reasons),
      ({ failure, reason, method }) => `${failure} ${reason} ${method}`,
    ),
    attemptFailures: addCounts(
      each.flatMap(({ attemptFailures }) => attemptFailures),
      ({ reason }) => reason,
    ),
    proved: addCounts(
      each.flatMap(({ proved }) => proved),
      ({ method }) => method,
    ),
    retries: total(({ retries }) => retries),
    bytesIn: total(({ bytesIn }) => bytesIn),
    bytesOut: total(({ bytesOut }) => bytesOut),
    total: addHistograms(each.map((one) => one.total)),
    firstByte: addHistograms(each.map(({ firstByte }) => firstByte)),
    upstream: addHistograms(each.map(({ upstream }) => upstream)),
  }
}

const addCounts = <T extends { readonly count: number }>(each: readonly T[], keyOf: (one: T) => string): T[] => {
  const sums = new Map<string, T>()
  for (const one of each) {
    const key = keyOf(one)
    const found = sums.get(key)
    sums.set(key, found === undefined ? one : { ...found, count: found.count + one.count })
  }
  return [...sums.values()]
}
