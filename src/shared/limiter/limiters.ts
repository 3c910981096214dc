import { wallClock } from '../../clock.ts'
import { Kept } from '../kept.ts'
import { askingOnce, needMs, type Once, readQuestion, redisOnce, Seen, type SeenState } from '../once/once.ts'
import type { RedisLink } from '../redis/link.ts'
import { Links, type OnChange, type RedisSettings } from '../redis/links.ts'
import { type AskAll, batched } from './batch.ts'
import { isTaken, type Limit, type Limiter, nextInMs, type Outcome } from './bucket.ts'
import { MemoryLimiter } from './memory.ts'

/** Is the part that a process has in counting: one that serves alone, the primary of several that serve, or one of those. */
export type Part =
  | { readonly is: 'alone' | 'primary' }
  | {
      readonly is: 'worker'
      readonly of: number
      /** How long it waits for the primary. */
      readonly withinMs: number
      ask(limit: string, keys: readonly string[]): ReturnType<AskAll<string, Outcome>>
    }

/** A limiter as long as it is needed, with what it stands on. */
export type Held = ReturnType<Limiters['hold']>

/** What tells whether something comes for the first time, as long as that is needed. */
export type HeldOnce = ReturnType<Limiters['holdOnce']>

/** Is what has to be said of something that may come only once. */
export interface OnceTerms {
  /** What it is, in the key of Redis and for other processes. */
  readonly name: string
  readonly windowMs: number
  /** What is done while Redis, where there is one, cannot be asked. */
  readonly otherwise: 'refuse' | 'serve'
}

/** Is how a limiter does. */
export interface HeldState {
  /** Whether other gateways count with this one. */
  readonly isShared: boolean
  /** Since when it is so, in milliseconds since the epoch. */
  readonly since: number
  /** Why they cannot; null: they can, or are not to. */
  readonly reason: string | null
  /** How many keys were forgotten for want of room. */
  readonly evictions: number
}

/** Keeps limiters and links as long as anybody needs them: a reload goes on with the counts, as long as the limit is the same. */
export class Limiters {
  readonly #since = wallClock()
  readonly #part: Part
  readonly #bases = new Kept<{ readonly limiter: Limiter; readonly memory: MemoryLimiter | null }>()
  readonly #links: Links
  readonly #onces = new Kept<{ readonly once: Once; readonly seen: Seen | null }>()

  constructor(part: Part, onChange: OnChange) {
    this.#part = part
    this.#links = new Links(onChange)
  }

  /** Makes a limiter, or takes the one that there is. Of several processes the primary counts in memory only: it serves nobody. */
  hold(limit: Limit, redis: RedisSettings | null) {
    const name = nameOf(limit)
    const { limiter, memory } = this.#bases.hold(name, () => this.#base(name, limit))
    const shared = this.#linkTo(redis)
    return {
      limiter: shared ? redisLimiter(limit, shared.link, `${shared.prefix}:${limit.policy}:`, limiter) : limiter,
      state: (): HeldState => {
        const { isShared, since, reason } = shared?.link ?? { isShared: false, since: this.#since, reason: null }
        return { isShared, since, reason, evictions: memory?.evictions ?? 0 }
      },
      release: (): void => {
        this.#bases.release(name)
        shared?.release()
      },
    }
  }

  /**
   * Makes what tells whether something comes for the first time, or takes the one that there is. A reload that changes the window goes on with
   * it: what was seen before must not come again after an edit.
   */
  holdOnce({ name, windowMs, otherwise }: OnceTerms, redis: RedisSettings | null) {
    const { once, seen } = this.#onces.hold(name, () => this.#onceBase(name, windowMs))
    seen?.widen(windowMs)
    const shared = this.#linkTo(redis)
    return {
      once: shared
        ? redisOnce({ link: shared.link, prefix: `${shared.prefix}:${name}:`, windowMs, otherwise }, once)
        : once,
      /** Tells how full the memory is; null: another process has it. */
      state: (): SeenState | null => seen?.state() ?? null,
      release: (): void => {
        this.#onces.release(name)
        shared?.release()
      },
    }
  }

  /** Holds the link to a Redis; null: there is none, or another process asks it. */
  #linkTo(redis: RedisSettings | null) {
    return redis === null || this.#part.is === 'primary' ? null : { ...this.#links.hold(redis), prefix: redis.prefix }
  }

  /** Tells how much of a bound of the whole gateway is for this process: rounded up, so that each has one of everything. */
  partOf(bound: number): number {
    return this.#part.is === 'worker' ? Math.ceil(bound / this.#part.of) : bound
  }

  /** Counts for another process; null: that limit is not known here, or not any more. */
  takeAll(name: string, keys: readonly string[]): readonly Outcome[] | null {
    const seen = this.#onces.find(name)?.seen ?? null
    if (seen !== null) return keys.map((question) => seen.note(...readQuestion(question)))
    const memory = this.#bases.find(name)?.memory ?? null
    return memory && keys.map((key) => memory.take(key))
  }

  #onceBase(name: string, windowMs: number): { readonly once: Once; readonly seen: Seen | null } {
    const part = this.#part
    if (part.is === 'worker') return { once: askingOnce((keys) => part.ask(name, keys), needMs), seen: null }
    const seen = new Seen(windowMs)
    return { once: seen, seen }
  }

  #base(name: string, limit: Limit): { readonly limiter: Limiter; readonly memory: MemoryLimiter | null } {
    const part = this.#part
    if (part.is === 'worker')
      return {
        limiter: askingLimiter(limit, (keys) => part.ask(name, keys), part.withinMs, sharedAmong(part.of, limit)),
        memory: null,
      }
    const memory = new MemoryLimiter(limit)
    return { limiter: memory, memory }
  }
}

const nameOf = ({ policy, perMs, burst }: Limit): string => `${policy} ${perMs} ${burst}`

/** Counts in Redis for several gateways; as this one would without it while Redis is down or slow. */
const redisLimiter = (
  limit: Limit,
  link: Pick<RedisLink, 'isShared' | 'take'>,
  prefix: string,
  otherwise: Limiter,
): Limiter => ({
  limit,
  take: (key) =>
    link.isShared
      ? link.take(prefix + key, limit.perMs, limit.burst).then((outcome) => outcome ?? otherwise.take(key))
      : otherwise.take(key),
})

/** Has another process count for several that serve. Where it does not answer in time, this one counts by its share. */
export const askingLimiter = (
  limit: Limit,
  askAll: AskAll<string, Outcome>,
  withinMs: number,
  share: Limiter,
): Limiter => {
  const ask = batched(askAll, withinMs)
  return { limit, take: (key) => ask(key).then((outcome) => outcome ?? share.take(key)) }
}

/** Counts in memory the share that one of several processes has of a limit, and tells of it as if it were the whole. */
export const sharedAmong = (processes: number, limit: Limit): Limiter => {
  const { policy, perMs, burst } = limit
  const share = new MemoryLimiter({ policy, perMs: perMs / processes, burst: Math.max(1, burst / processes) })
  return {
    limit,
    take(key) {
      const outcome = share.take(key)
      if (isTaken(outcome)) return outcome * processes
      // What the whole would have used that has nothing left, and the next one when the share has.
      return 1 - burst - nextInMs(outcome, share.limit) * perMs
    },
  }
}
