import { now } from '../../../core/lib/clock.ts'
import { RefCountedMap } from '../../../core/lib/memo.ts'
import { type BatchCall, batchCalls } from '../../redis/batched-calls.ts'
import type { ManagedRedis } from '../../redis/managed-redis.ts'
import type { RedisRegistry } from '../../redis/redis-registry.ts'
import type { RedisSettings } from '../../redis/redis-settings.ts'

/** Whether a process remembers: of several, the primary does, and its workers ask it. */
type ReplayRole =
  | { readonly kind: 'alone' | 'primary' }
  | { readonly kind: 'worker'; readonly askPrimary: BatchCall<string, FirstUseResult> }

// In the key of Redis as well.
const name = 'dpop'

/**
 * The replay cache of a process, open as long as any snapshot needs it. A reload that changes the window goes on with
 * it: what was used before must not come again after an edit.
 */
export class ReplayCacheRegistry {
  readonly #role: ReplayRole
  readonly #redis: RedisRegistry
  readonly #caches = new RefCountedMap<ReplayCache>()

  constructor(role: ReplayRole, redis: RedisRegistry) {
    this.#role = role
    this.#redis = redis
  }

  acquire(
    { windowMs, whenUnavailable }: Pick<SharedReplayOptions, 'windowMs' | 'whenUnavailable'>,
    redis: RedisSettings | null,
  ) {
    const replayCache = this.#caches.acquire(name, () => this.#create(windowMs))
    const replayWindow = replayCache instanceof ReplayWindow ? replayCache : null
    replayWindow?.widen(windowMs)
    // The primary of several workers serves no client.
    const shared = redis === null || this.#role.kind === 'primary' ? null : this.#redis.acquire(redis, 'limits')
    return {
      replayCache:
        redis && shared
          ? redisReplayCache(
              { link: shared.link, prefix: `${redis.prefix}:${name}:`, windowMs, whenUnavailable },
              replayCache,
            )
          : replayCache,
      /** Returns how full the memory is. Null: another process keeps it. */
      state: (): ReplayWindowState | null => replayWindow?.state() ?? null,
      /** Whether Redis remembers for all gateways. Null: it is not meant to, or other processes ask it. */
      shared: shared?.link ?? null,
      release: (): void => {
        this.#caches.release(name)
        shared?.release()
      },
    }
  }

  /** Records for another process. Null: nothing is remembered here. */
  recordAll(uses: readonly string[]): readonly FirstUseResult[] | null {
    const replayCache = this.#caches.get(name)
    return replayCache instanceof ReplayWindow ? uses.map((use) => replayCache.record(...decodeUse(use))) : null
  }

  #create(windowMs: number): ReplayCache {
    const role = this.#role
    return role.kind === 'worker'
      ? remoteReplayCache(role.askPrimary, replayReplyTimeoutMs)
      : new ReplayWindow(windowMs)
  }
}

/**
 * The result of a first-use check: positive when a key comes for the first time, negative when it came before, 0 when
 * that cannot be told. A number, because other processes and Redis reply with it.
 */
type FirstUseResult = number

/** A cache that tells of each key whether it comes for the first time within a window (RFC 9449 §11.1). */
export interface ReplayCache {
  /**
   * Records a key for the owner whose room it takes: at once, or soon, when another process or Redis has to be asked.
   * Never rejects, and never reports a first use that it cannot be sure of. A key has no blanks. `madeAt`: when its
   * sender says that it was made, in milliseconds since the epoch; null: it does not say.
   */
  record(key: string, owner: string, madeAt?: number | null): FirstUseResult | Promise<FirstUseResult>
}

/** The result when it cannot be told whether a key was used. */
export const firstUseUnknown: FirstUseResult = 0

export const isFirstUse = (result: FirstUseResult): boolean => result > 0

/** Encodes the arguments of {@link ReplayCache.record} in one text, for another process. */
const encodeUse = (key: string, owner: string, madeAt: number | null): string => `${key} ${madeAt ?? ''} ${owner}`

/** Decodes it. The key is a string of its own: a slice of a text would keep all of that text in memory. */
export const decodeUse = (encoded: string): readonly [key: string, owner: string, madeAt: number | null] => {
  const keyEnd = encoded.indexOf(' ')
  const timeEnd = encoded.indexOf(' ', keyEnd + 1)
  const key = Buffer.from(encoded.slice(0, keyEnd), 'latin1').toString('latin1')
  const madeAt = encoded.slice(keyEnd + 1, timeEnd)
  return [key, encoded.slice(timeEnd + 1), madeAt === '' ? null : Number(madeAt)]
}

/** How long to wait for a reply that nothing can stand in for, in milliseconds. */
export const replayReplyTimeoutMs = 1000

/**
 * Records in the primary, which remembers for all workers. Where it does not reply in time, the result is {@link
 * firstUseUnknown}.
 */
export const remoteReplayCache = (callAll: BatchCall<string, FirstUseResult>, timeoutMs: number): ReplayCache => {
  const call = batchCalls(callAll, timeoutMs)
  return {
    record: (key, owner, madeAt = null) =>
      call(encodeUse(key, owner, madeAt)).then((result) => result ?? firstUseUnknown),
  }
}

interface SharedReplayOptions {
  readonly link: Pick<ManagedRedis, 'isShared' | 'consume'>
  readonly prefix: string
  readonly windowMs: number
  /**
   * The result of a key that is new here while Redis cannot be asked. `refuse`: {@link firstUseUnknown}; `serve`: a
   * first use.
   */
  readonly whenUnavailable: 'refuse' | 'serve'
}

/**
 * Records in Redis what is new here. This gateway's own memory is asked first and always: whatever happens to Redis,
 * nothing that came here comes again. In Redis a key is a bucket with room for one, which drains in a window.
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
    async record(key, owner, madeAt) {
      const result = await localCache.record(key, owner, madeAt)
      return isFirstUse(result) ? recordInRedis(key) : result
    },
  }
}

/**
 * The maximum of keys within one window; of one owner, half as many. Further keys are rejected: nothing is forgotten
 * before its time.
 */
const maxReplayKeys = 1_000_000

/** How full the memory is: how many keys have come in this window, and how many may. */
export type ReplayWindowState = ReturnType<ReplayWindow['state']>

/**
 * A replay cache in memory. It remembers a key for one window at least and two at most: those of this window and those
 * of the one before. Unlike a rate limiter's count, a key is never forgotten for want of room: a client that sends so
 * many that there is none has no proof of another client accepted twice. Nor does it have other clients rejected: an
 * owner takes no more room than is left, so n owners who take all that they can leave an (n+1)th of it free.
 *
 * A key is forgotten when its proof is too old for the wall clock. When that clock is set back, the proof is young
 * enough again: for each time of which a proof was forgotten, the result is unknown.
 */
export class ReplayWindow implements ReplayCache {
  #windowMs: number
  readonly #max: number
  #current: WindowKeys
  #previous: WindowKeys
  #countByOwner = new Map<string, number>()
  /** When the proofs behind the keys that were forgotten were made. */
  readonly #forgottenTimes: TimeRanges
  #rotatedAt = now()

  constructor(windowMs: number, max: number = maxReplayKeys) {
    this.#windowMs = windowMs
    this.#max = max
    this.#current = createWindowKeys(windowMs)
    this.#previous = createWindowKeys(windowMs)
    this.#forgottenTimes = new TimeRanges(windowMs)
  }

  state() {
    this.#rotate()
    return { remembered: this.#current.keys.size, room: this.#max }
  }

  /** Remembers for a longer window from now on, if it is longer. */
  widen(windowMs: number): void {
    this.#windowMs = Math.max(this.#windowMs, windowMs)
  }

  record(key: string, owner: string, madeAt: number | null = null): FirstUseResult {
    this.#rotate()
    if (this.#current.keys.has(key) || this.#previous.keys.has(key)) return -1
    if (madeAt !== null && this.#forgottenTimes.has(madeAt)) return firstUseUnknown
    const owned = this.#countByOwner.get(owner) ?? 0
    if (owned >= this.#max - this.#current.keys.size) return firstUseUnknown
    this.#countByOwner.set(owner, owned + 1)
    this.#current.keys.add(key)
    if (madeAt !== null) this.#current.times.add(madeAt)
    return 1
  }

  #rotate(): void {
    const at = now()
    const age = at - this.#rotatedAt
    if (age < this.#windowMs) return
    // After two windows in which no key came, the current keys have had their time as well.
    const isPreviousKept = age < 2 * this.#windowMs
    this.#forgottenTimes.addAll(this.#previous.times)
    if (!isPreviousKept) this.#forgottenTimes.addAll(this.#current.times)
    this.#previous = isPreviousKept ? this.#current : createWindowKeys(this.#windowMs)
    this.#current = createWindowKeys(this.#windowMs)
    this.#countByOwner = new Map()
    this.#rotatedAt = at
  }
}

/** The keys of one window, and when the proofs behind them were made. */
type WindowKeys = ReturnType<typeof createWindowKeys>

const createWindowKeys = (windowMs: number) => ({ keys: new Set<string>(), times: new TimeRanges(windowMs) })

interface TimeRange {
  readonly from: number
  readonly to: number
}

// A clock is set now and then, and each time may begin one more range.
const maxRanges = 8

/**
 * A set of times, kept as ranges: two times that are closer than `gapMs` have all between them in the set as well, and
 * beyond eight ranges the closest two become one.
 */
class TimeRanges {
  readonly #gapMs: number
  #ranges: readonly TimeRange[] = []

  constructor(gapMs: number) {
    this.#gapMs = gapMs
  }

  has(at: number): boolean {
    return this.#ranges.some(({ from, to }) => from <= at && at <= to)
  }

  add(at: number): void {
    if (!this.has(at)) this.#add({ from: at, to: at })
  }

  addAll(others: TimeRanges): void {
    for (const range of others.#ranges) this.#add(range)
  }

  #add(added: TimeRange): void {
    const isNear = ({ from, to }: TimeRange): boolean =>
      from - this.#gapMs <= added.to && added.from <= to + this.#gapMs
    const near = this.#ranges.filter(isNear)
    const apart = this.#ranges.filter((range) => !near.includes(range))
    const ranges = [...apart, near.reduce(join, added)].toSorted((one, other) => one.from - other.from)
    this.#ranges = ranges.length > maxRanges ? joinClosest(ranges) : ranges
  }
}

const join = (one: TimeRange, other: TimeRange): TimeRange => ({
  from: Math.min(one.from, other.from),
  to: Math.max(one.to, other.to),
})

/** Joins the two neighbours of a sorted list that have the shortest time between them. */
const joinClosest = (ranges: readonly TimeRange[]): readonly TimeRange[] => {
  const gaps = ranges.slice(1).map(({ from }, i) => from - (ranges[i] as TimeRange).to)
  const at = gaps.indexOf(Math.min(...gaps))
  const [one, other] = ranges.slice(at, at + 2) as [TimeRange, TimeRange]
  return [...ranges.slice(0, at), join(one, other), ...ranges.slice(at + 2)]
}
