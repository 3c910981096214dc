import type { Answer } from '../../exchange.ts'
import type { GatewayError } from '../../failures/errors.ts'
import type { Kind } from '../../failures/kinds.ts'
import type { Fields } from '../../fields.ts'
import type { Trouble } from './policy/reuse.ts'
import type { StoredHead } from './policy/stored.ts'
import type { NotStored } from './policy/storing.ts'
import type { Recording } from './recording.ts'
import type { StoredBody } from './stored.ts'

/** Is an answer that others may use too. Whoever asked for it first is answered with `fields`, as they came. */
export interface Shared {
  readonly kind: 'shared'
  readonly head: StoredHead
  readonly fields: Fields
  readonly body: StoredBody | Recording
  /** Bytes of the body; null: nobody knows yet. */
  readonly bodyBytes: number | null
  /** Whether it is what was stored, which the upstream says is still good. */
  readonly isValidated: boolean
  readonly isStored: boolean
  /** Why it is not stored; null: it is, or there is nothing to say. */
  readonly not: NotStored | null
}

/**
 * Is what a fetch has brought for those who wait for it: what all may use; an answer for the one alone who asked first; nothing that anybody can
 * use, so that each has to ask for himself; or a failure.
 */
export type Landing =
  | Shared
  | { readonly kind: 'alone'; readonly answer: Answer; readonly not: NotStored | null }
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly error: GatewayError }

/** Tells the status that the upstream has answered; null: it has not. */
export const statusOf = (landing: Landing): number | null => {
  if (landing.kind === 'alone') return landing.answer.status
  return landing.kind === 'shared' ? landing.head.status : null
}

/** Tells what trouble of the upstream's it shows; null: none. */
export const troubleIn = (landing: Landing): Trouble | null => {
  if (landing.kind === 'failed') return troubleOf(landing.error)
  const status = statusOf(landing)
  return status === null ? null : troubleOfStatus(status)
}

// RFC 9111 §4.2.4: the upstream cannot be reached, or is not tried because it could not be before. Nothing was processed as far as anybody knows.
const disconnected: ReadonlySet<Kind> = new Set<Kind>([
  'connect-failed',
  'connect-timeout',
  'tls-failed',
  'reset-before-headers',
  'no-healthy-endpoint',
  'circuit-open',
])

// RFC 5861 §4 names these four, whether the upstream says so or the gateway in its stead.
const errors: ReadonlySet<number> = new Set([500, 502, 503, 504])

/** Tells what trouble an answer of the upstream is; null: none. */
export const troubleOfStatus = (status: number): Trouble | null => (errors.has(status) ? 'error' : null)

/** Tells what trouble a failure is; null: it is the client's, and no answer makes it better. */
export const troubleOf = ({ kind, status }: GatewayError): Trouble | null =>
  disconnected.has(kind) ? 'disconnected' : troubleOfStatus(status)
