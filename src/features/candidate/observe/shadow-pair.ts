import type { FailureKind } from '../../../core/exchange/failures/kinds.ts'
import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import type { OperationId } from '../../../operations.ts'

/**
 * Called with what the primary and the candidate of a group answered to the same request. It runs in a turn of the
 * event loop in which nothing waits for it, and must not throw. The bytes of both bodies are freed when it returns: it
 * copies what it keeps.
 */
export type OnShadowPair = (primary: ShadowAnswer, candidate: ShadowAnswer, request: ShadowedRequest) => void

/** A request of which the primary got the original, and the candidate a copy. */
export interface ShadowedRequest {
  readonly operation: OperationId
  /** The id that both got. Null: no field is configured for it. */
  readonly requestId: string | null
}

export interface ShadowAnswer {
  /** Null: no head came. */
  readonly status: number | null
  /** End-to-end fields as they came; empty where no head came. */
  readonly fields: HeaderFields
  readonly body: ShadowBody
  /** From the sending of the request to the head, in milliseconds. Null: no head came. */
  readonly headMs: number | null
  /** Why the answer did not come to its end: a fault of the side. Null: it did. */
  readonly failure: FailureKind | null
}

/** The body of an answer. Of a longer one than is kept, there are the length and the hash alone. */
export interface ShadowBody {
  /** The bytes that were read: all of them, unless `failure` says otherwise, or there are neither bytes nor a hash. */
  readonly length: number
  /** Null: the body is longer than `maxBody`, or there was no room for it. */
  readonly bytes: Buffer | null
  /** SHA-256 in hex, where there are no bytes. Null: there are, or the body is longer than is read. */
  readonly sha256: string | null
}
