import { unrefTimeout } from '../../core/lib/clock.ts'
import { RefCountedMap } from '../../core/lib/memo.ts'
import type { LogEvent } from '../../core/log/log.ts'
import type { RedisPurpose } from './config.ts'
import { ManagedRedis } from './managed-redis.ts'
import type { ConnectRedis } from './redis-connection.ts'
import { type RedisSettings, redactSecrets, sectionOf } from './redis-settings.ts'

/** The reason holds no secrets. */
export type OnSharedChange = (isShared: boolean, reason: string | null) => void

interface RedisLinks {
  readonly link: ManagedRedis
  /** For writes that replicas confirm, which block the connection's other commands. Null: replicas need not confirm. */
  readonly replicated: ManagedRedis | null
}

/** The connections of one kind of work: large replies of one kind do not delay small replies of another. */
export class RedisRegistry {
  readonly #onChange: OnSharedChange
  readonly #byKey = new RefCountedMap<RedisLinks>()

  constructor(onChange: OnSharedChange) {
    this.#onChange = onChange
  }

  acquire(redis: RedisSettings, purpose: RedisPurpose): RedisLinks & { release(): void } {
    const key = JSON.stringify([purpose, redis])
    const links = this.#byKey.acquire(key, () => this.#open(redis, purpose))
    const release = (): void => {
      const closing = this.#byKey.release(key)
      closing?.link.close()
      closing?.replicated?.close()
    }
    return { ...links, release }
  }

  #open(redis: RedisSettings, purpose: RedisPurpose): RedisLinks {
    const openLink = (settings: RedisSettings, onChange: OnSharedChange): ManagedRedis =>
      new ManagedRedis({
        connect: connectWith(settings),
        timeoutMs: redis.timeout,
        timeoutKey: `${sectionOf(purpose)}.redis.timeout`,
        redact: (reason) => redactSecrets(reason, redis),
        onChange,
      })
    if ((redis.replicas ?? 0) === 0) return { link: openLink(redis, this.#onChange), replicated: null }
    const onChange = (): void => reportTogether()
    const link = openLink({ ...redis, replicas: 0 }, onChange)
    const replicated = openLink(redis, onChange)
    const reportTogether = joinChanges([link, replicated], this.#onChange)
    return { link, replicated }
  }
}

const connectWith =
  (settings: RedisSettings): ConnectRedis =>
  async (onLost) =>
    (await import('./redis-connection.ts')).connectRedis(settings)(onLost)

/** Reports connections that count as shared only together. */
const joinChanges = (links: readonly ManagedRedis[], onChange: OnSharedChange): (() => void) => {
  let wasShared: boolean | null = null
  return () => {
    const isShared = links.every((link) => link.isShared)
    // No reason during the first attempt.
    const reason = links.find((link) => link.reason !== null)?.reason ?? null
    if (isShared === wasShared || (!isShared && reason === null)) return
    wasShared = isShared
    onChange(isShared, reason)
  }
}

const perMs = 60_000

// An outage and its end, twice. Redis may change several times a second.
const maxLines = 4

/** Logs at most {@link maxLines} changes a minute, then the state once a minute, with the number of `changes`. */
export const calmChanges = (logEvent: LogEvent, available: string, unavailable: string): OnSharedChange => {
  let linesLeft = maxLines
  let hasTimer = false
  let changes = 0
  let last: Parameters<OnSharedChange> = [true, null]

  const logLast = (more: { readonly changes?: number }): void => {
    const [isShared, reason] = last
    if (isShared) logEvent('info', available, more)
    else logEvent('warn', unavailable, { reason, ...more })
  }

  const startMinute = (lines: number): void => {
    linesLeft = lines
    hasTimer = true
    unrefTimeout(perMs, () => {
      hasTimer = false
      if (changes === 0) return
      logLast({ changes })
      changes = 0
      startMinute(0)
    })
  }

  return (...change) => {
    last = change
    if (!hasTimer) startMinute(maxLines)
    if (linesLeft === 0) return void changes++
    linesLeft--
    logLast({})
  }
}
