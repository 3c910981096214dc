import type { CacheRequest } from '../policy/request.ts'
import type { Name } from '../store.ts'
import type { Stored } from '../stored.ts'

/** Is where several gateways find what one of them has stored. */
export interface SecondLevel {
  /** Looks there for what memory does not answer; null: it cannot be asked. `key` is the one in memory. */
  sight(name: Name, key: string, request: CacheRequest): Sighting | null
}

/** Is one look there, and what is told in turn of what came of it. */
export interface Sighting {
  /** Resolves when what is there is in memory, as far as it is later than what was, or when it has been waited for long enough. Never rejects. */
  readonly brought: Promise<void>
  /** Writes there what has come instead, behind everybody's back. */
  store(entry: Stored): void
  /** Removes what is there: the upstream does not say it any more. */
  remove(): void
}
