import { now } from '../../../core/lib/clock.ts'
import { RefCountedMap } from '../../../core/lib/memo.ts'
import { type BatchCall, batchCalls, type SharingRole } from '../../redis/batched-calls.ts'
import type { ManagedRedis } from '../../redis/managed-redis.ts'
import type { RedisRegistry } from '../../redis/redis-registry.ts'
import type { RedisSettings } from '../../redis/redis-settings.ts'

export type ReplayCaches = ReturnType<typeof createReplayCaches>

// Part of the Redis key.
const name = 'dpop'

export const replayReplyTimeoutMs = 1000

/** A reload that changes the window keeps the cache: otherwise a proof would be accepted again after an edit. */
export const createReplayCaches = (role: SharingRole<FirstUseQuery, FirstUseResult>, redisRegistry: RedisRegistry) => {
  /** `window` null: the primary remembers. */
  const caches = new RefCountedMap<{ readonly cache: ReplayCache; readonly window: ReplayWindow | null }>()
  const open = (windowMs: number) => {
    if (role.kind === 'worker') return { cache: remoteReplayCache(role.askPrimary, replayReplyTimeoutMs), window: null }
    const window = createReplayWindow(windowMs)
    return { cache: window, window }
  }
  return {
    acquire(options: Pick<SharedReplayOptions, 'windowMs' | 'whenUnavailable'>, redis: RedisSettings | null) {
      const { windowMs } = options
      const { cache: local, window } = caches.acquire(name, () => open(windowMs))
      window?.widen(windowMs)
      // The primary serves no client when there are workers.
      const shared = redis === null || role.kind === 'primary' ? null : redisRegistry.acquire(redis, 'counts')
      return {
        replayCache:
          redis && shared
            ? redisReplayCache({ ...options, link: shared.link, prefix: `${redis.prefix}:${name}:` }, local)
            : local,
        /** Null: another process remembers the keys. */
        state: (): ReplayWindowState | null => window?.state() ?? null,
        /** Null: Redis is not configured for proofs, or other processes connect to it. */
        shared: shared?.link ?? null,
        release: (): void => {
          caches.release(name)
          shared?.release()
        },
      }
    },
    /** Records proofs that other processes got. Null: this process remembers no keys. */
    recordAll(uses: readonly FirstUseQuery[]): readonly FirstUseResult[] | null {
      const window = caches.get(name)?.window ?? null
      return window && uses.map((use) => window.record(...use))
    },
  }
}

/** Positive: first use. Negative: repeated. 0: unknown. A number, because Redis replies with it. */
type FirstUseResult = number

/** `owner`: whose room the key takes. `madeAt`: the sender's time in ms since the epoch; null: none. */
export type FirstUseQuery = readonly [key: string, owner: string, madeAt?: number | null]

/** Detects the second use of a key within a window (RFC 9449 §11.1). */
export interface ReplayCache {
  /** Never rejects, and never returns a first use that is uncertain. */
  record(...use: FirstUseQuery): FirstUseResult | Promise<FirstUseResult>
}

export const firstUseUnknown: FirstUseResult = 0

export const isFirstUse = (result: FirstUseResult): boolean => result > 0

/** The primary remembers for all workers. Without a timely reply, the result is {@link firstUseUnknown}. */
export const remoteReplayCache = (callAll: BatchCall<FirstUseQuery, FirstUseResult>, timeoutMs: number) => {
  const call = batchCalls(callAll, timeoutMs)
  return { record: (...use: FirstUseQuery) => call(use).then((result) => result ?? firstUseUnknown) }
}

interface SharedReplayOptions {
  readonly link: Pick<ManagedRedis, 'isShared' | 'consume'>
  readonly prefix: string
  readonly windowMs: number
  /** For a key that is new to this process while Redis is unavailable. `reject`: {@link firstUseUnknown}. */
  readonly whenUnavailable: 'reject' | 'serve'
}

/**
 * Asks the process's own memory first: a proof used here is rejected also without Redis. In Redis, a key is a bucket of
 * one token, which drains in a window.
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

/** In one window; one owner may use half. Further keys are rejected, because no key may be forgotten early. */
const maxReplayKeys = 1_000_000

export type ReplayWindowState = ReturnType<ReplayWindow['state']>

type ReplayWindow = ReturnType<typeof createReplayWindow>

/**
 * In memory. A key is kept for one to two windows and is never evicted for lack of room: a client's flood makes no
 * other client's proof acceptable twice. Nor does the flood reject other clients: each owner may use at most half of
 * the free room, so n owners leave 1/(n+1) of it. A key is forgotten when its proof is too old by the wall clock. If
 * that clock is set back, the proof is young enough again: for the times of forgotten proofs, the result is unknown.
 */
export const createReplayWindow = (initialWindowMs: number, max: number = maxReplayKeys) => {
  let windowMs = initialWindowMs
  /** Keys of one window, and the times of their proofs. */
  const createKeys = () => ({ keys: new Set<string>(), times: [] as readonly TimeRange[], gapMs: windowMs })
  let [current, previous] = [createKeys(), createKeys()]
  let countByOwner = new Map<string, number>()
  /** Times of forgotten proofs. */
  let forgottenTimes: readonly TimeRange[] = []
  let rotatedAt = now()

  const forget = (times: readonly TimeRange[]): void => {
    for (const range of times) forgottenTimes = addRange(forgottenTimes, range, initialWindowMs)
  }

  const rotate = (): void => {
    const at = now()
    const age = at - rotatedAt
    if (age < windowMs) return
    // After two windows without a new key, the current keys have expired too.
    const isPreviousKept = age < 2 * windowMs
    forget(previous.times)
    if (!isPreviousKept) forget(current.times)
    previous = isPreviousKept ? current : createKeys()
    current = createKeys()
    countByOwner = new Map()
    rotatedAt = at
  }

  return {
    state() {
      rotate()
      return { remembered: current.keys.size, room: max }
    },
    /** From now on, keys are kept for at least `ms`. */
    widen(ms: number): void {
      windowMs = Math.max(windowMs, ms)
    },
    record(key: string, owner: string, madeAt: number | null = null): FirstUseResult {
      rotate()
      if (current.keys.has(key) || previous.keys.has(key)) return -1
      if (madeAt !== null && hasTime(forgottenTimes, madeAt)) return firstUseUnknown
      const owned = countByOwner.get(owner) ?? 0
      if (owned >= max - current.keys.size) return firstUseUnknown
      countByOwner.set(owner, owned + 1)
      current.keys.add(key)
      if (madeAt !== null && !hasTime(current.times, madeAt))
        current.times = addRange(current.times, { from: madeAt, to: madeAt }, current.gapMs)
      return 1
    },
  }
}

/** A set of times is kept as ranges, each without a gap. */
type TimeRange = Readonly<Record<'from' | 'to', number>>

// Each change of the clock may start a range. With more, the two closest become one.
const maxRanges = 8

const hasTime = (ranges: readonly TimeRange[], at: number): boolean =>
  ranges.some(({ from, to }) => from <= at && at <= to)

const addRange = (before: readonly TimeRange[], added: TimeRange, gapMs: number): readonly TimeRange[] => {
  const isNear = ({ from, to }: TimeRange): boolean => from - gapMs <= added.to && added.from <= to + gapMs
  const apart = before.filter((range) => !isNear(range))
  const ranges = [...apart, before.filter(isNear).reduce(join, added)].toSorted((one, other) => one.from - other.from)
  if (ranges.length <= maxRanges) return ranges
  const gaps = ranges.slice(1).map(({ from }, i) => from - (ranges[i] as TimeRange).to)
  const at = gaps.indexOf(Math.min(...gaps))
  const [one, other] = ranges.slice(at, at + 2) as [TimeRange, TimeRange]
  return [...ranges.slice(0, at), join(one, other), ...ranges.slice(at + 2)]
}

const join = (one: TimeRange, other: TimeRange): TimeRange => ({
  from: Math.min(one.from, other.from),
  to: Math.max(one.to, other.to),
})
