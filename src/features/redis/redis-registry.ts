import { unrefTimeout } from '../../core/lib/clock.ts'
import { RefCountedMap } from '../../core/lib/memo.ts'
import type { LogEvent } from '../../core/log/log.ts'
import { ManagedRedis } from './managed-redis.ts'
import { connectRedis } from './redis-connection.ts'
import { type RedisSection, type RedisSettings, redactSecrets } from './redis-settings.ts'

/** Called on each change, with the reason, which holds no secrets. */
export type OnSharedChange = (isShared: boolean, reason: string | null) => void

interface RedisLinks {
  readonly link: ManagedRedis
  /**
   * Where replicas confirm what is written. Redis runs no other command of a connection that waits for them, so what
   * needs no replica goes by {@link link}. Null: no replica has to.
   */
  readonly replicated: ManagedRedis | null
}

/**
 * The connections of one kind of work, one or two for each Redis, open as long as they have a user. Another kind has
 * connections of its own, to the same Redis too: a large reply there does not hold up a small one here.
 */
export class RedisRegistry {
  readonly #onChange: OnSharedChange
  readonly #byKey = new RefCountedMap<RedisLinks>()

  constructor(onChange: OnSharedChange) {
    this.#onChange = onChange
  }

  /** Opens connections, or acquires those that there are. `section`: the section of the file whose Redis it is. */
  acquire(redis: RedisSettings, section: RedisSection): RedisLinks & { release(): void } {
    const key = JSON.stringify([section, redis])
    const links = this.#byKey.acquire(key, () => this.#open(redis, section))
    const release = (): void => {
      const closing = this.#byKey.release(key)
      closing?.link.close()
      closing?.replicated?.close()
    }
    return { ...links, release }
  }

  #open(redis: RedisSettings, section: RedisSection): RedisLinks {
    const openLink = (settings: RedisSettings, onChange: OnSharedChange): ManagedRedis =>
      new ManagedRedis({
        connect: connectRedis(settings),
        timeoutMs: redis.timeout,
        timeoutKey: `${section}.redis.timeout`,
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

/** Creates a function that reports a change of several connections that are shared only together. */
const joinChanges = (links: readonly ManagedRedis[], onChange: OnSharedChange): (() => void) => {
  let wasShared: boolean | null = null
  return () => {
    const isShared = links.every((link) => link.isShared)
    // A connection that is being tried for the first time has no reason yet.
    const reason = links.find((link) => link.reason !== null)?.reason ?? null
    if (isShared === wasShared || (!isShared && reason === null)) return
    wasShared = isShared
    onChange(isShared, reason)
  }
}

const perMs = 60_000

// An outage and its end, twice. A Redis that comes and goes changes several times a second.
const maxLines = 4

/**
 * Logs changes as they come, but of a Redis that comes and goes once a minute how it stands then: after
 * {@link maxLines} in a minute, until a minute is quiet. The fields are the reason, where Redis is not available, and
 * `changes`, where some were not logged.
 */
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
    if (linesLeft === 0) {
      changes++
      return
    }
    linesLeft--
    logLast({})
  }
}
