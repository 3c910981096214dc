import type { Milliseconds } from '../../units.ts'
import { RefCountedMap } from '../ref-counted-map.ts'
import { ManagedRedis } from './managed-redis.ts'
import { connectRedis } from './redis-connection.ts'

/**
 * Removes from a reason what the server may have repeated of a command: Redis lists the arguments of a command that it
 * does not know, and `AUTH` may be one (`rename-command`).
 */
export const redactSecrets = (reason: string, url: string): string => {
  const { password } = new URL(url)
  const masked = reason.replace(/,? with args beginning with:.*$/s, '')
  const secrets = [password, decodeURIComponent(password)].filter((secret) => secret !== '')
  return secrets.reduce((text, secret) => text.replaceAll(secret, '***'), masked)
}

/** A Redis that several gateways share. */
export interface RedisSettings {
  readonly url: string
  readonly timeout: Milliseconds
  /** The prefix of every key. */
  readonly prefix: string
}

/** Called on each change, with the reason, which holds no secrets. */
export type OnSharedChange = (isShared: boolean, reason: string | null) => void

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

  /** Opens a connection, or acquires the one that there is. */
  acquire(redis: RedisSettings) {
    const key = JSON.stringify(redis)
    const link = this.#byKey.acquire(key, () => this.#open(redis))
    return { link, release: (): void => this.#byKey.release(key)?.close() }
  }

  #open({ url, timeout: timeoutMs, prefix }: RedisSettings): ManagedRedis {
    return new ManagedRedis({
      connect: connectRedis(url),
      timeoutMs,
      probeKey: `${prefix}:probe`,
      redact: (reason) => redactSecrets(reason, url),
      onChange: this.#onChange,
    })
  }
}
