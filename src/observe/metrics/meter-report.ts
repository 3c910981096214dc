import type { OperationId } from '../../catalog.ts'
import type { Kind } from '../../failures/kinds.ts'
import type { AuthMethod, Reason } from '../../failures/reasons.ts'
import { added } from '../added.ts'
import type { SpanCounts } from '../tracing/trouble.ts'
import type { HistogramReport } from './histogram.ts'

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

/** Adds up what several processes have counted; null: none has counted anything. */
export const addMeters = (each: readonly MeterReport[]): MeterReport | null => {
  const [first] = each
  if (first === undefined) return null
  const { spans, ...sums } = added(first, each)
  return {
    ...sums,
    spans: { ...spans, trouble: each.find((one) => one.spans.trouble !== null)?.spans.trouble ?? null },
  }
}
