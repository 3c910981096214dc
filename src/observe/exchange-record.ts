import type { Exchange } from '../exchange.ts'
import type { GatewayError } from '../failures/errors.ts'

/**
 * The record of a request whose answer has ended: what the log, the audit, the counts, the last refusals and spans read. Durations are
 * milliseconds.
 */
export interface ExchangeRecord {
  readonly requestId: string
  /** Its address. */
  readonly client: string
  /** Null: no request could be parsed. */
  readonly method: string | null
  /** The start of its target as it came, without a query, where it is none of the nine; null: it is one, or there was none. Never shown. */
  readonly path: string | null
  readonly status: number
  readonly totalMs: number
  /** Until the head of the answer was written; null: none was. */
  readonly firstByteMs: number | null
  readonly bytesIn: number
  readonly bytesOut: number
  readonly configHash: string
  readonly failure: GatewayError | null
  /** What is known of one of the nine; null: it is none of them. */
  readonly exchange: ExchangeFacts | null
}

/** What the layers and the upstream side note of an exchange, and recorders read. */
export type ExchangeFacts = Pick<
  Exchange,
  | 'operation'
  | 'identity'
  | 'attemptedAuth'
  | 'cache'
  | 'digests'
  | 'trace'
  | 'attempt'
  | 'attempts'
  | 'failedAttempts'
  | 'upstreamMs'
>

/** Hears of every exchange once its body has ended. Never waits, and never throws. */
export interface ExchangeObserver {
  readonly name: string
  record(record: ExchangeRecord): void
}
