import type { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { Fields } from '../fields.ts'
import type { Edit } from './edits.ts'
import type { OnFailedAttempt } from './failed-attempt.ts'
import type { Outcome } from './outcome.ts'

/** Says how an upstream wants to be sent to, compiled once from its configuration. */
export interface Manner {
  readonly headersTimeoutMs: number | null
  readonly bodyTimeoutMs: number | null
  readonly editAnswer: Edit | null
  readonly editInterim: Edit | null
  /**
   * Hears what a request told of its endpoint, by which failure or status, and when it began; null: nobody compares it
   * with others.
   */
  readonly watch: ((outcome: Outcome, why: GatewayError | number, startedAt: number) => void) | null
  /** Is called for each attempt that failed by its endpoint's fault, whatever becomes of the exchange. */
  readonly onFailure: OnFailedAttempt
  /** Renders the head of the request that an exchange is sent as, with these fields. Throws `internal`. */
  readonly render: (exchange: Exchange, fields: Fields) => string
}
