import { epochMs, now, systemMs, systemToEpochMs, unrefTimeout } from '../../../../core/lib/clock.ts'
import { errorMessage } from '../../../../core/lib/try.ts'
import { VerifierUnavailable } from '../../errors.ts'
import { type DependencyHealthState, trackHealth } from '../dependency-health.ts'
import { type JwkSet, parseJwkSet } from '../jwk-set.ts'

// Issuers renew keys rarely, and a token that names a new key causes a fetch at once.
const refreshMs = 5 * 60_000
// After a failure; doubled up to the maximum, so that a recovered issuer is used again within 15 s.
const retryMs = { first: 1000, max: 15_000 } as const
// Any client can name an unknown key: at most 3 fetches at once, and 1 per second.
const refetchRate = { burst: 3, perMs: 1 / 1000 } as const

/** The promises reject with {@link VerifierUnavailable}. */
export interface IssuerKeys {
  readonly current: JwkSet | null
  firstSet(): Promise<JwkSet>
  /** Fetches newer keys, because `isFound` misses one. */
  refetch(isFound: () => boolean): Promise<void>
  state(): IssuerKeysState
  close(): void
}

export interface IssuerKeysState extends DependencyHealthState {
  readonly source: 'url' | 'file'
  readonly keys: number
}

/** A JWK Set as fetched: plain data, for other processes. */
export interface FetchedJwks {
  readonly text: string
  /** The start of the fetch, on the monotonic clock of the system: the set holds no key withdrawn before it. */
  readonly fetchedAt: number
}

interface JwksCacheOptions {
  fetch(): Promise<string>
  /** `error`: fetches begin to fail. Null: they succeed again. */
  onChange(error: string | null): void
  /** Gets each set that this cache has fetched, also an empty one. */
  onFetched?(set: FetchedJwks): void
  onClose?(): void
  random?(): number
}

/** Refreshes keys in the background, one fetch at a time. The last set stays valid while the issuer is unreachable. */
export class JwksCache implements IssuerKeys {
  current: JwkSet | null = null
  fetched: FetchedJwks | null = null
  readonly #options: JwksCacheOptions
  readonly #health: ReturnType<typeof trackHealth>
  #running: Promise<void> | null = null
  #isClosed = false
  #failures = 0
  #stop = (): void => {}
  /** Fetches that unknown keys may still cause, as of `#refilledAt`. */
  #refetchTokens: number = refetchRate.burst
  #refilledAt = now()

  constructor(options: JwksCacheOptions) {
    this.#options = options
    this.#health = trackHealth(options.onChange, 0)
    void this.#fetch()
  }

  async firstSet(): Promise<JwkSet> {
    if (this.current === null && this.#health.state.error === null) await this.#running
    if (this.current === null) throw new VerifierUnavailable('issuer-keys', this.#reason())
    return this.current
  }

  async refetch(isFound: () => boolean): Promise<void> {
    const { state } = this.#health
    // While the issuer is unavailable, requests are rejected without a further wait.
    if (state.error === null && this.#running !== null) {
      await this.#running
      if (isFound()) return
    }
    // A running fetch may have begun before the key was published, so a new one is made.
    if (state.error === null && (this.#running !== null || this.#takeRefetchToken())) await this.#fetch()
    if (state.error !== null) throw new VerifierUnavailable('issuer-keys', this.#reason())
  }

  /** Adopts the set of another process unless the own is newer: a withdrawn key must not come back. */
  adopt(set: FetchedJwks): void {
    if (this.fetched !== null && this.fetched.fetchedAt >= set.fetchedAt) return
    // The set keeps its age, and this cache its schedule.
    if (this.#accept(set) === null) this.#health.recordPeerSuccess(systemToEpochMs(set.fetchedAt))
  }

  state(): IssuerKeysState {
    return { source: 'url', keys: this.current?.size ?? 0, ...this.#health.state }
  }

  close(): void {
    this.#isClosed = true
    this.#stop()
    this.#options.onClose?.()
  }

  #fetch(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async #run(): Promise<void> {
    this.#stop()
    const [before, fetchedAt] = [this.fetched, systemMs()]
    const error = await this.#options.fetch().then((text) => {
      const set = { text, fetchedAt }
      const adopted = this.fetched === before ? null : this.fetched
      const unusable = this.#accept(adopted !== null && adopted.fetchedAt > fetchedAt ? adopted : set)
      if (this.fetched === set) this.#options.onFetched?.(set)
      return unusable
    }, errorMessage)
    if (this.#isClosed) return
    this.#failures = error === null ? 0 : this.#failures + 1
    if (error === null) this.#health.recordSuccess()
    else this.#health.recordFailure(error)
    this.#stop = unrefTimeout(this.#pauseMs(), () => void this.#fetch())
  }

  /** Returns null, or why the set is unusable. An empty set is accepted: it withdraws all keys. */
  #accept(set: FetchedJwks): string | null {
    try {
      if (this.current === null || this.fetched?.text !== set.text) this.current = parseJwkSet(set.text, this.current)
      this.fetched = set
      return this.current.size === 0 ? 'it holds no key that can be used' : null
    } catch (thrown) {
      return errorMessage(thrown)
    }
  }

  #pauseMs(): number {
    const { random = Math.random } = this.#options
    const ms = this.#failures === 0 ? refreshMs : Math.min(retryMs.max, retryMs.first * 2 ** (this.#failures - 1))
    return Math.round(ms * (0.9 + random() * 0.2)) // gateways that started together do not fetch together
  }

  #takeRefetchToken(): boolean {
    const at = now()
    this.#refetchTokens = Math.min(refetchRate.burst, this.#refetchTokens + (at - this.#refilledAt) * refetchRate.perMs)
    this.#refilledAt = at
    if (this.#refetchTokens < 1) return false
    this.#refetchTokens--
    return true
  }

  #reason(): string {
    return `the keys of the issuer cannot be had: ${this.#health.state.error ?? 'closed'}`
  }
}

/** Keys of a file never change: the configuration was read with them. */
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
