import { RefCountedMap } from '../ref-counted-map.ts'
import { ManagedRedis } from './managed-redis.ts'
import { connectRedis } from './redis-connection.ts'
import { type RedisSettings, redactSecrets } from './redis-settings.ts'

/** Called on each change, with the reason, which holds no secrets. */
export type OnSharedChange = (isShared: boolean, reason: string | null) => void

type RedisSection = 'limits' | 'cache' | 'idempotency'

/**
 * The connections of one kind of work, one for each Redis, each open as long as it has a user. Another kind has
 * connections of its own, to the same Redis too: a large reply there does not hold up a small one here.
 */
export class RedisRegistry {
  readonly #onChange: OnSharedChange
  readonly #byKey = new RefCountedMap<ManagedRedis>()

  constructor(onChange: OnSharedChange) {
    this.#onChange = onChange
  }

  /** Opens a connection, or acquires the one that there is. `section`: the section of the file whose Redis it is. */
  acquire(redis: RedisSettings, section: RedisSection) {
    const key = JSON.stringify([section, redis])
    const link = this.#byKey.acquire(key, () => this.#open(redis, section))
    return { link, release: (): void => this.#byKey.release(key)?.close() }
  }

  #open(redis: RedisSettings, section: RedisSection): ManagedRedis {
    return new ManagedRedis({
      connect: connectRedis(redis),
      timeoutMs: redis.timeout,
      timeoutKey: `${section}.redis.timeout`,
      redact: (reason) => redactSecrets(reason, redis),
      onChange: this.#onChange,
    })
  }
}
