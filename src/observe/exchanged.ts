import type { OperationId } from '../catalog.ts'
import type { FailedAttempt, GatewayError } from '../errors.ts'
import type { AuthMethod, CacheOutcome, ExchangeTrace, Identity } from '../exchange.ts'
import type { Digests } from './audit/line.ts'

/** Is what is known of an exchange when its body has ended. Durations are milliseconds. */
export interface Exchanged {
  readonly requestId: string
  /** Its address. */
  readonly client: string
  /** Who it has proved to be; null: nobody asked, or nobody knows. */
  readonly identity: Identity | null
  /** What was to prove it, whatever came of that; null: nothing was asked, or nothing shown. */
  readonly authMethod: AuthMethod | null
  /** Null: no request could be parsed. */
  readonly method: string | null
  /** The start of its target as it came, without a query, where it is none of the nine; null: it is one, or there was none. Never shown. */
  readonly path: string | null
  readonly operation: OperationId | null
  readonly status: number
  readonly endpoint: string | null
  /** How often it was sent to an endpoint, or should have been. */
  readonly attempts: number
  /** Those that failed by their endpoint's fault. */
  readonly failedAttempts: readonly FailedAttempt[]
  readonly totalMs: number
  /** Until the head of the answer was written; null: none was. */
  readonly firstByteMs: number | null
  /** From the start of the last attempt to the end of its answer; null when nothing was sent. */
  readonly upstreamMs: number | null
  readonly bytesIn: number
  readonly bytesOut: number
  readonly configHash: string
  /** Its place in a trace; null: nobody follows it. */
  readonly trace: ExchangeTrace | null
  readonly failure: GatewayError | null
  /** What its operation's cache did; null: it has none, or was not asked. */
  readonly cache: CacheOutcome | null
  /** Null: nobody asked for them. */
  readonly digests: Digests | null
}
