import { epochMs, now, systemMs, systemToEpochMs, unrefTimeout } from '../../../../core/lib/clock.ts'
import { errorMessage } from '../../../../core/lib/try.ts'
import { VerifierUnavailable } from '../../errors.ts'
import { DependencyHealth, type DependencyHealthState } from '../dependency-health.ts'
import { type JwkSet, parseJwkSet } from '../jwk-set.ts'

// Issuers renew keys seldom, and a new one is fetched as soon as a token names it.
const refreshMs = 5 * 60_000
// After a failure: soon, then more and more seldom, so that an issuer that is back is used again within the maximum.
const retryMs = { first: 1000, max: 15_000 } as const
// Any client can name an unknown key: so many fetches at once, and one a second.
const refetchRate = { burst: 3, perMs: 1 / 1000 } as const

export interface IssuerKeys {
  readonly current: JwkSet | null
  /** Rejects with {@link VerifierUnavailable} when it cannot be fetched now. */
  firstSet(): Promise<JwkSet>
  /**
   * Fetches newer keys, because `isFound` misses one. Rejects with {@link VerifierUnavailable} when the issuer is
   * unavailable.
   */
  refetch(isFound: () => boolean): Promise<void>
  state(): IssuerKeysState
  close(): void
}

export interface IssuerKeysState extends DependencyHealthState {
  readonly source: 'url' | 'file'
  readonly keys: number
}

/** A JWK Set as it was fetched: plain data, for other processes. */
export interface FetchedJwks {
  readonly text: string
  /** When it was asked for, on the monotonic clock of the system: it holds no key that was withdrawn before. */
  readonly fetchedAt: number
}

interface JwksCacheOptions {
  readonly fetch: () => Promise<string>
  /** Called with the error when fetching begins to fail, and with null when it succeeds again. */
  readonly onChange: (error: string | null) => void
  /** Called with each set that this cache has fetched, also one without keys. */
  readonly onFetched?: (set: FetchedJwks) => void
  readonly onClose?: () => void
  readonly random?: () => number
}

/**
 * Keeps the keys of an issuer fresh in the background, one fetch at a time. The last fetched set is good for as long as
 * the issuer is unreachable: its outage is no outage here.
 */
export class JwksCache implements IssuerKeys {
  current: JwkSet | null = null
  fetched: FetchedJwks | null = null
  readonly #options: JwksCacheOptions
  readonly #health: DependencyHealth
  #running: Promise<void> | null = null
  #isClosed = false
  #failures = 0
  #stop = (): void => {}
  /** Fetches that unknown keys may still cause, as of `#refilledAt`. */
  #refetchTokens: number = refetchRate.burst
  #refilledAt = now()

  constructor(options: JwksCacheOptions) {
    this.#options = options
    this.#health = new DependencyHealth(options.onChange, 0)
    void this.#fetch()
  }

  async firstSet(): Promise<JwkSet> {
    if (this.current === null && this.#health.error === null) await this.#running
    if (this.current === null) throw new VerifierUnavailable('issuer-keys', this.#reason())
    return this.current
  }

  async refetch(isFound: () => boolean): Promise<void> {
    // While the issuer is unavailable, no request waits to learn it once more.
    if (this.#health.error === null && this.#running !== null) {
      await this.#running
      if (isFound()) return
    }
    // A running fetch may have begun before the key was published: one that begins now has not.
    if (this.#health.error === null && (this.#running !== null || this.#takeRefetchToken())) await this.#fetch()
    if (this.#health.error !== null) throw new VerifierUnavailable('issuer-keys', this.#reason())
  }

  /**
   * Adopts a set that another process has fetched, unless the set here is newer: a key that the issuer has withdrawn
   * does not come back. The set keeps its age, and the fetches of this cache go on as before.
   */
  adopt(set: FetchedJwks): void {
    if (this.fetched !== null && this.fetched.fetchedAt >= set.fetchedAt) return
    if (this.#accept(set) === null) this.#health.recordPeerSuccess(systemToEpochMs(set.fetchedAt))
  }

  state(): IssuerKeysState {
    return { source: 'url', keys: this.current?.size ?? 0, ...this.#health.state() }
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
    const error = await this.#options.fetch().then(
      (text) => {
        const set = { text, fetchedAt }
        const adopted = this.fetched === before ? null : this.fetched
        const unusable = this.#accept(adopted !== null && adopted.fetchedAt > fetchedAt ? adopted : set)
        if (this.fetched === set) this.#options.onFetched?.(set)
        return unusable
      },
      (thrown: unknown) => errorMessage(thrown),
    )
    if (this.#isClosed) return
    this.#failures = error === null ? 0 : this.#failures + 1
    if (error === null) this.#health.recordSuccess()
    else this.#health.recordFailure(error)
    this.#stop = unrefTimeout(this.#pauseMs(), () => void this.#fetch())
  }

  /**
   * Accepts a set; returns null, or why it is of no use. An empty set is taken at its word: the keys before it
   * are no longer good.
   */
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
    return `the keys of the issuer cannot be had: ${this.#health.error ?? 'closed'}`
  }
}

/** Creates the keys of a file: the configuration was read with them, and they never change. */
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
