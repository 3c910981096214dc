import { epochMs, now, systemMs, systemToEpochMs, unrefTimeout } from '../../../../core/lib/clock.ts'
import { consumeToken, isAllowed } from '../../../../core/lib/token-bucket.ts'
import { errorMessage } from '../../../../core/lib/try.ts'
import { VerifierUnavailable } from '../../errors.ts'
import { type DependencyHealthState, trackHealth } from '../dependency-health.ts'
import { type JwkSet, parseJwkSet } from '../jwk-set.ts'

// Issuers rarely renew keys, and a token with a new key causes a fetch at once.
const refreshMs = 5 * 60_000
// After a failure, doubled up to the maximum: a recovered issuer is used again within 15 s.
const retryMs = { first: 1000, max: 15_000 } as const
// Clients can name unknown keys: at most 3 fetches at once, and 1 per second.
const refetchLimit = { policy: 'refetch', burst: 3, perMs: 1 / 1000 } as const

/** The promises reject with {@link VerifierUnavailable}. */
export type IssuerKeys = Readonly<Pick<JwksCache, 'current' | 'firstSet' | 'refetch' | 'state' | 'close'>>

export interface IssuerKeysState extends DependencyHealthState {
  readonly source: 'url' | 'file'
  readonly keys: number
}

/** As fetched: plain data, for other processes. */
export interface FetchedJwks {
  readonly text: string
  /** The start of the fetch, on the system's monotonic clock: a key withdrawn earlier is not in the set. */
  readonly fetchedAt: number
}

interface JwksCacheOptions {
  fetch(): Promise<string>
  /** Null: fetches succeed again. */
  onChange(error: string | null): void
  /** Also gets empty sets. */
  onFetched?(set: FetchedJwks): void
  onClose?(): void
  random?(): number
}

export type JwksCache = ReturnType<typeof createJwksCache>

/** Refreshes keys in the background, one fetch at a time. While the issuer is unreachable, the last set stays valid. */
export const createJwksCache = (options: JwksCacheOptions) => {
  const { random = Math.random } = options
  const health = trackHealth(options.onChange, 0)
  const refetches = { used: 0, at: now() }
  let running: Promise<void> | null = null
  let isClosed = false
  let failures = 0
  let stop = (): void => {}

  /** Returns why the set is unusable, or null. An empty set is accepted: it withdraws all keys. */
  const accept = (set: FetchedJwks): string | null => {
    try {
      if (cache.current === null || cache.fetched?.text !== set.text)
        cache.current = parseJwkSet(set.text, cache.current)
      cache.fetched = set
      return cache.current.size === 0 ? 'it holds no key that can be used' : null
    } catch (thrown) {
      return errorMessage(thrown)
    }
  }

  const run = async (): Promise<void> => {
    stop()
    const [before, fetchedAt] = [cache.fetched, systemMs()]
    const error = await options.fetch().then((text) => {
      const set = { text, fetchedAt }
      const adopted = cache.fetched === before ? null : cache.fetched
      const unusable = accept(adopted !== null && adopted.fetchedAt > fetchedAt ? adopted : set)
      if (cache.fetched === set) options.onFetched?.(set)
      return unusable
    }, errorMessage)
    if (isClosed) return
    failures = error === null ? 0 : failures + 1
    if (error === null) health.recordSuccess()
    else health.recordFailure(error)
    const pauseMs = failures === 0 ? refreshMs : Math.min(retryMs.max, retryMs.first * 2 ** (failures - 1))
    // Gateways that started together fetch apart.
    stop = unrefTimeout(Math.round(pauseMs * (0.9 + random() * 0.2)), () => void fetch())
  }

  const fetch = (): Promise<void> => {
    running ??= run().finally(() => {
      running = null
    })
    return running
  }

  const unavailable = (): VerifierUnavailable =>
    new VerifierUnavailable('issuer-keys', `the issuer’s keys cannot be fetched: ${health.state.error ?? 'closed'}`)

  const cache = {
    current: null as JwkSet | null,
    fetched: null as FetchedJwks | null,
    async firstSet(): Promise<JwkSet> {
      if (cache.current === null && health.state.error === null) await running
      if (cache.current === null) throw unavailable()
      return cache.current
    },
    /** Fetches newer keys because a key is missing; `isFound` tells whether it has come. */
    async refetch(isFound: () => boolean): Promise<void> {
      const { state } = health
      // While the issuer is unavailable, requests are rejected without a further wait.
      if (state.error === null && running !== null) {
        await running
        if (isFound()) return
      }
      // The running fetch may have started before the key was published, so another fetch follows.
      const mayFetch = (): boolean => running !== null || isAllowed(consumeToken(refetches, refetchLimit, now()))
      if (state.error === null && mayFetch()) await fetch()
      if (state.error !== null) throw unavailable()
    },
    /** Adopts another process's set unless this process's is newer: a withdrawn key must not return. */
    adopt(set: FetchedJwks): void {
      if (cache.fetched !== null && cache.fetched.fetchedAt >= set.fetchedAt) return
      // The set keeps its age, and this cache its schedule.
      if (accept(set) === null) health.recordPeerSuccess(systemToEpochMs(set.fetchedAt))
    },
    state: (): IssuerKeysState => ({ source: 'url', keys: cache.current?.size ?? 0, ...health.state }),
    close(): void {
      isClosed = true
      stop()
      options.onClose?.()
    },
  }
  void fetch()
  return cache
}

/** Keys in a file change only by a reload. */
export const staticIssuerKeys = (text: string): IssuerKeys => {
  const current = parseJwkSet(text, null)
  const since = epochMs()
  return {
    current,
    firstSet: async () => current,
    refetch: async () => {},
    state: () => ({ source: 'file', keys: current.size, error: null, since, lastSuccess: since }),
    close: () => {},
  }
}
