import type { Exchange, Handle } from '../../exchange.ts'
import type { GatewayError } from '../../failures/errors.ts'
import type { Landing } from './landing.ts'
import type { Part } from './part.ts'
import type { CacheRequest } from './policy/request.ts'
import type { FwdReason } from './policy/reuse.ts'
import type { CacheRules } from './policy/rules.ts'
import type { Sighting } from './second/second-level.ts'
import type { Stored } from './stored.ts'

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
