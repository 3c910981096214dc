import type { Exchange } from '../exchange/exchange.ts'
import type { GatewayError } from '../exchange/failures/errors.ts'

/**
 * The record of a request whose response has ended: what the log, the audit, the metrics, the recent errors and the
 * spans read. Durations are milliseconds.
 */
export interface ExchangeRecord {
  readonly requestId: string
  readonly client: string
  /** Null: no request could be parsed. */
  readonly method: string | null
  /**
   * The start of the target as it came, without its query, when it names no operation. Null: it names one, or there was
   * none. Never shown.
   */
  readonly path: string | null
  readonly status: number
  readonly totalMs: number
  /** Milliseconds until the response head was written; null: none was. */
  readonly firstByteMs: number | null
  readonly bytesIn: number
  readonly bytesOut: number
  readonly configHash: string
  readonly failure: GatewayError | null
  /** Null: the request was for no operation. */
  readonly exchange: ExchangeFacts | null
}

/** What the layers and the upstream side note of an exchange, and observers read. */
export type ExchangeFacts = Pick<
  Exchange,
  'operation' | 'identity' | 'attemptedAuth' | 'outcome' | 'trace' | 'side' | 'attempts'
>

/** An observer of every exchange, called once its response body has ended. Never waits, and never throws. */
export interface ExchangeObserver {
  readonly name: string
  record(record: ExchangeRecord): void
}
