import type { Milliseconds } from '../../units.ts'
import { RefCountedMap } from '../ref-counted-map.ts'
import { ManagedRedis } from './managed-redis.ts'
import { connectRedis } from './redis-connection.ts'

/**
 * Takes out of a reason what the server may have repeated of what it was told: Redis lists the arguments of a command that it does not know, and
 * `AUTH` may be one (`rename-command`).
 */
export const redactSecrets = (reason: string, url: string): string => {
  const { password } = new URL(url)
  const masked = reason.replace(/,? with args beginning with:.*$/s, '')
  const secrets = [password, decodeURIComponent(password)].filter((secret) => secret !== '')
  return secrets.reduce((text, secret) => text.replaceAll(secret, '***'), masked)
}

/** Is a Redis that several gateways have in common. */
export interface RedisSettings {
  readonly url: string
  readonly timeout: Milliseconds
  /** What every key begins with. */
  readonly prefix: string
}

/** Is told of each change, and why: without secrets. */
export type OnSharedChange = (isShared: boolean, reason: string | null) => void

/**
 * Keeps the links of one kind of work as long as anybody needs them, one for each place. Another kind has links of its own, to the same place too:
 * what is large there does not hold up what is asked for here.
 */
export class RedisRegistry {
  readonly #onChange: OnSharedChange
  readonly #byKey = new RefCountedMap<ManagedRedis>()

  constructor(onChange: OnSharedChange) {
    this.#onChange = onChange
  }

  /** Opens a link, or takes the one that there is, for as long as it is needed. */
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
