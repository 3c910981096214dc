import type { GatewayError } from '../../failures/errors.ts'
import type { Kind } from '../../failures/kinds.ts'
import type { Trouble } from './policy/reuse.ts'

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
