import type { RedisConfig } from '../config/config.ts'
import type { SecondLevel } from '../layers/cache/fetching.ts'
import type { Target } from '../layers/cache/invalidate.ts'
import { clearedKeys, ofQuery } from '../layers/cache/second/keys.ts'
import { type LevelOptions, RedisLevel } from '../layers/cache/second/redis-level.ts'
import { RedisStore, type StoreCounts } from '../layers/cache/second/redis-store.ts'
import type { Cleared } from '../layers/cache/store.ts'
import { Kept } from '../shared/kept.ts'
import { Links } from '../shared/redis/links.ts'
import type { Tell } from '../upstream/notices.ts'

/** Is how a second level does. */
export interface SecondState {
  /** `local`: this gateway has what it has stored itself. */
  readonly state: 'shared' | 'local'
  /** Since when that is so, in ms since the epoch. */
  readonly since: number
  /** Why it cannot be asked; null: it can, or nobody knows yet. */
  readonly reason: string | null
  readonly counts: StoreCounts
}

/** Is a second level as long as a snapshot needs it. */
export interface HeldSecond {
  /** Makes the level of one operation. */
  level(options: Omit<LevelOptions, 'store'>): SecondLevel
  state(): SecondState
  release(): void
}

/** Keeps the second levels of a process: with the link to each, and with what it has to be told. */
export class Seconds {
  readonly #links: Links
  readonly #kept = new Kept<RedisStore>()
  readonly #stores = new Set<RedisStore>()

  constructor(tell: Tell) {
    this.#links = new Links((isShared, reason) => {
      if (isShared) tell('info', 'cache is shared', {})
      else tell('warn', 'cache is not shared', { reason })
    })
  }

  /** Opens a second level, or takes the one that there is. */
  hold(redis: RedisConfig): HeldSecond {
    const name = JSON.stringify(redis)
    const { link, release } = this.#links.hold(redis)
    const store = this.#kept.hold(name, () => new RedisStore(link, redis.prefix))
    this.#stores.add(store)
    return {
      level: (options) => new RedisLevel({ ...options, store }),
      state: () => {
        const { isShared, since, reason } = link
        return { state: isShared ? 'shared' : 'local', since, reason, counts: { ...store.counts } }
      },
      release: () => {
        if (this.#kept.release(name) !== null) this.#stores.delete(store)
        release()
      },
    }
  }

  /** Has nobody find what is cleared any more; tells whether every second level knows. */
  clear(what: Cleared): Promise<boolean> {
    return this.#renew((prefix) => clearedKeys(prefix, what))
  }

  /** Has nobody find what has become invalid. Where that cannot be told now, it is when it can be. */
  invalidate(targets: readonly Target[]): void {
    void this.#renew((prefix) => targets.map(({ operation, query }) => ofQuery(prefix, operation, query)))
  }

  async #renew(keysOf: (prefix: string) => readonly string[]): Promise<boolean> {
    const told = await Promise.all([...this.#stores].map((store) => store.renew(keysOf(store.prefix))))
    return told.every((isTold) => isTold)
  }
}
