import type { Handle } from '../../exchange.ts'
import type { Landing } from './landing.ts'
import type { Notices } from './notices.ts'
import type { Part } from './part.ts'
import type { CacheRequest } from './policy/request.ts'
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
