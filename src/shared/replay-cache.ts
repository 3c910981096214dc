import { now } from '../clock.ts'
import { type BatchCall, batchCalls } from './rate-limiter/batched-calls.ts'
import type { ManagedRedis } from './redis/managed-redis.ts'

/**
 * Tells whether something comes for the first time: positive when it does, negative when it came before, 0 when nobody can tell. Numbers,
 * because other processes and Redis answer with them.
 */
export type FirstUseResult = number

/** Tells of each key whether it comes for the first time within a window. */
export interface ReplayCache {
  /**
   * Notes a key, which somebody has brought whose room it takes: at once, or soon, when somebody else has to be asked. Never rejects, and nobody
   * who cannot tell says that it is the first time. A key has no blanks.
   */
  record(key: string, owner: string): FirstUseResult | Promise<FirstUseResult>
}

/** Is what is said of a key that nobody can tell anything about. */
export const firstUseUnknown: FirstUseResult = 0

/** Tells whether a key came for the first time. */
export const isFirstUse = (result: FirstUseResult): boolean => result > 0

/** Writes in one text what another process is asked. */
export const encodeUse = (key: string, owner: string): string => `${key} ${owner}`

/** Reads it. The key is a string of its own: what was cut out of a text would keep all of that in memory. */
export const decodeUse = (encoded: string): readonly [key: string, owner: string] => {
  const end = encoded.indexOf(' ')
  return [Buffer.from(encoded.slice(0, end), 'latin1').toString('latin1'), encoded.slice(end + 1)]
}

/** How long an answer is waited for that nothing can stand in for, in milliseconds. */
export const replayReplyTimeoutMs = 1000

/** Has another process remember for several that serve. Where it does not answer in time, nobody can tell. */
export const remoteReplayCache = (askAll: BatchCall<string, FirstUseResult>, withinMs: number): ReplayCache => {
  const call = batchCalls(askAll, withinMs)
  return { record: (key, owner) => call(encodeUse(key, owner)).then((result) => result ?? firstUseUnknown) }
}

/** Is how several gateways remember together. */
interface SharedReplayOptions {
  readonly link: Pick<ManagedRedis, 'isShared' | 'consume'>
  /** What every key begins with. */
  readonly prefix: string
  readonly windowMs: number
  /** What is said of a key that is new here while Redis cannot be asked: `refuse`, that nobody can tell; `serve`, that it is the first time. */
  readonly whenUnavailable: 'refuse' | 'serve'
}

/**
 * Remembers in Redis what is new here. This gateway's own memory is asked first and always: whatever happens to Redis, nothing that came here
 * comes again. In Redis a key is a bucket with room for one, which drains in a window.
 */
export const redisReplayCache = (
  { link, prefix, windowMs, whenUnavailable }: SharedReplayOptions,
  localCache: ReplayCache,
): ReplayCache => {
  const fallback = whenUnavailable === 'serve' ? 1 : firstUseUnknown
  const waitMs = whenUnavailable === 'serve' ? undefined : replayReplyTimeoutMs
  const recordInRedis = async (key: string): Promise<FirstUseResult> => {
    if (!link.isShared) return fallback
    return (await link.consume(prefix + key, 1 / windowMs, 1, waitMs)) ?? fallback
  }
  return {
    async record(key, owner) {
      const result = await localCache.record(key, owner)
      return isFirstUse(result) ? recordInRedis(key) : result
    },
  }
}

/** Most keys that come within one window; of one owner, half as many. Beyond them it refuses: nothing is forgotten before its time. */
export const maxReplayKeys = 1_000_000

/** How full a memory is: how many keys have come in this window, and how many may. */
export type ReplayWindowState = ReturnType<ReplayWindow['state']>

/**
 * Remembers keys in memory, for one window at least and two at most: those of this window and those of the one before. What has come is never
 * forgotten for want of room, as a count may be: whoever brings so many that there is none has nobody else's proof accepted twice. Nor has he
 * others refused: nobody takes more room than is left, so n who take all that they can leave an (n+1)th of it free.
 */
export class ReplayWindow implements ReplayCache {
  #windowMs: number
  readonly #max: number
  #current = new Set<string>()
  /** How many of the young are whose. */
  #countByOwner = new Map<string, number>()
  #previous = new Set<string>()
  #rotatedAt = now()

  constructor(windowMs: number, max: number = maxReplayKeys) {
    this.#windowMs = windowMs
    this.#max = max
  }

  /** Tells how much of its room is taken. */
  state() {
    this.#rotate()
    return { remembered: this.#current.size, room: this.#max }
  }

  /** Remembers for longer from now on, if that is longer. */
  widen(windowMs: number): void {
    this.#windowMs = Math.max(this.#windowMs, windowMs)
  }

  record(key: string, owner: string): FirstUseResult {
    this.#rotate()
    if (this.#current.has(key) || this.#previous.has(key)) return -1
    const owned = this.#countByOwner.get(owner) ?? 0
    if (owned >= this.#max - this.#current.size) return firstUseUnknown
    this.#countByOwner.set(owner, owned + 1)
    this.#current.add(key)
    return 1
  }

  #rotate(): void {
    const at = now()
    const age = at - this.#rotatedAt
    if (age < this.#windowMs) return
    // After two windows in which nothing came, the young have had their time as well.
    this.#previous = age < 2 * this.#windowMs ? this.#current : new Set()
    this.#current = new Set()
    this.#countByOwner = new Map()
    this.#rotatedAt = at
  }
}
