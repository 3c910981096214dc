import type { Exchange } from '../../exchange.ts'
import type { CacheRequest } from './policy/request.ts'
import type { FwdReason } from './policy/reuse.ts'
import type { Sighting } from './second/second-level.ts'
import type { Stored } from './stored.ts'

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
