import type { Answer, Exchange, Handle } from '../../exchange.ts'
import type { GatewayError } from '../../failures/errors.ts'
import type { Kind } from '../../failures/kinds.ts'
import type { Fields } from '../../fields.ts'
import type { Part } from './part.ts'
import type { CacheRequest, CacheRules } from './policy/request.ts'
import type { FwdReason, Trouble } from './policy/reuse.ts'
import type { StoredHead } from './policy/stored.ts'
import type { NotStored } from './policy/storing.ts'
import type { Recording } from './recording.ts'
import type { Name } from './store.ts'
import type { Stored, StoredBody } from './stored.ts'

/** Is who waits for what a fetch brings. */
export interface Asker {
  readonly request: CacheRequest
  landed(landing: Landing): void
}

/** Is what a fetch is made from. */
export interface Fetching {
  readonly next: Handle
  readonly rules: CacheRules
  readonly part: Part
  readonly notices: Notices
  readonly key: string
  /** What is stored and asked about; null: nothing is. */
  readonly stored: Stored | null
  /** What the second level was asked before; null: there is none, or it was not asked. */
  readonly sighting: Sighting | null
  /** Whether nobody waits for it: it is for what is stored. */
  readonly isHeld: boolean
  /** Whether nobody else may wait for it. */
  readonly isForOne: boolean
  /** Is told once, when nobody can join it any more. */
  over(): void
}

/** Is a request that nothing stored answers. */
export interface Wanting {
  readonly exchange: Exchange
  readonly request: CacheRequest
  readonly key: string
  /** When it was looked for, on the wall clock. */
  readonly at: number
  /** What is stored for it, to be asked about, or to stand in for a failure; null: nothing is. */
  readonly stored: Stored | null
  /** What the latest answer under the key varies by; null: there is none. */
  readonly varies: readonly string[] | null
  readonly why: FwdReason
  /** What the second level was asked; null: there is none, or it was not asked. */
  readonly sighting: Sighting | null
  /** How often it may still wait for what another has asked for. */
  readonly patience: number
}

/** Is what is served stale, and to whom. */
export type Refreshing = Pick<Wanting, 'exchange' | 'request' | 'key' | 'at'> & { readonly stored: Stored }

/** Hears what no client is told. */
export interface Notices {
  /** The policy has thrown, which it never should: the request is forwarded as if there were no cache. */
  broken(error: unknown): void
  /** What is stored could not be refreshed behind the clients' backs. */
  unrefreshed(error: GatewayError): void
}

/** Is an answer that others may use too. Whoever asked for it first is answered with `fields`, as they came. */
export interface Shared {
  readonly kind: 'shared'
  readonly head: StoredHead
  readonly fields: Fields
  readonly body: StoredBody | Recording
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

/** Where several gateways find what one of them has stored. */
export interface SecondLevel {
  /** Looks there for what memory does not answer; null: it cannot be asked. `key` is the one in memory. */
  sight(name: Name, key: string, request: CacheRequest): Sighting | null
}

/** One look at the second level, and what is told in turn of what came of it. */
export interface Sighting {
  /** Resolves when what is there is in memory, as far as it is later than what was, or when it has been waited for long enough. Never rejects. */
  readonly brought: Promise<void>
  /** Writes there what has come instead, behind everybody's back. */
  store(entry: Stored): void
  /** Removes what is there: the upstream does not say it any more. */
  remove(): void
}
