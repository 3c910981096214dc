import type { Exchange } from '../exchange/exchange.ts'
import type { GatewayError } from '../exchange/failures/errors.ts'

/** For log, audit, metrics, recent errors and spans, once the response has ended. */
export interface ExchangeRecord {
  readonly requestId: string
  readonly client: string
  readonly method: string | null
  /** The start of the target without its query, if it names no operation; else null. Never shown. */
  readonly path: string | null
  readonly status: number
  readonly totalMs: number
  /** Until the response head was written; null: none was. */
  readonly firstByteMs: number | null
  readonly bytesIn: number
  readonly bytesOut: number
  readonly configHash: string
  readonly failure: GatewayError | null
  readonly exchange: ExchangeFacts | null
}

export type ExchangeFacts = Pick<
  Exchange,
  'operation' | 'identity' | 'attemptedAuth' | 'outcome' | 'trace' | 'side' | 'attempts'
>

/** Called once the response body has ended. Never waits, and never throws. */
export interface ExchangeObserver {
  readonly name: string
  record(record: ExchangeRecord): void
}
