import { epochMs, now, unrefTimeout } from '../../../clock.ts'
import { type JwkSet, parseJwkSet } from '../../../shared/jwk-set.ts'
import { DependencyHealth, type DependencyHealthState } from '../dependency-health.ts'
import { VerifierUnavailable } from '../errors.ts'

// Keys are renewed seldom, and a new one is fetched as soon as a token names it.
const refreshMs = 5 * 60_000
// After a failure: soon, then more and more seldom, so that what comes back is used again within so long.
const retryMs = { first: 1000, max: 15_000 } as const
// Anybody can name a key that nobody knows: so many fetches at once, and one a second.
const refetchRate = { burst: 3, perMs: 1 / 1000 } as const

/** Is the keys of an issuer as time goes by. */
export interface IssuerKeys {
  /** The newest set that could be had, however old; null: none yet. */
  readonly current: JwkSet | null
  /** Waits for the first set. Rejects with {@link VerifierUnavailable} when it cannot be had now. */
  firstSet(): Promise<JwkSet>
  /** Looks for newer keys, because `isFound` says that one is missing. Rejects with {@link VerifierUnavailable} when nobody can tell. */
  refetch(isFound: () => boolean): Promise<void>
  state(): IssuerKeysState
  /** Fetches no more. */
  close(): void
}

/** Is how it stands with the keys of an issuer, as plain data. */
export interface IssuerKeysState extends DependencyHealthState {
  readonly source: 'url' | 'file'
  readonly keys: number
}

/** Is what a keeper of keys needs. */
export interface JwksCacheOptions {
  /** Fetches the text of the set. */
  readonly fetch: () => Promise<string>
  /** Is told when fetching begins to fail, and why, and when it goes well again (null). */
  readonly onChange: (error: string | null) => void
  /** Is called when no more will be fetched. */
  readonly onClose?: () => void
  readonly random?: () => number
}

/**
 * Keeps the keys of an issuer fresh behind the requests' backs, one fetch at a time. What could be had last is good for as long as the issuer
 * cannot be reached: an outage there is none here.
 */
export class JwksCache implements IssuerKeys {
  current: JwkSet | null = null
  readonly #options: JwksCacheOptions
  readonly #health: DependencyHealth
  #running: Promise<void> | null = null
  #isClosed = false
  #failures = 0
  #stop = (): void => {}
  /** How many more fetches whoever names unknown keys may cause, when that was last counted. */
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
    // While they cannot be had, nobody is kept waiting to hear it once more.
    if (this.#health.error === null && this.#running !== null) {
      await this.#running
      if (isFound()) return
    }
    // What ran may have begun before the key was made known: one that begins now has not.
    if (this.#health.error === null && (this.#running !== null || this.#takeRefetchToken())) await this.#fetch()
    if (this.#health.error !== null) throw new VerifierUnavailable('issuer-keys', this.#reason())
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
    const error = await this.#options.fetch().then(
      (text) => this.#accept(text),
      (thrown: unknown) => errorMessage(thrown),
    )
    if (this.#isClosed) return
    this.#failures = error === null ? 0 : this.#failures + 1
    if (error === null) this.#health.recordSuccess()
    else this.#health.recordFailure(error)
    this.#stop = unrefTimeout(this.#pauseMs(), () => void this.#fetch())
  }

  /** Takes a set that was fetched; null, or why it is of no use. An empty one is taken at its word: the keys before it are good no more. */
  #accept(text: string): string | null {
    try {
      this.current = parseJwkSet(text, this.current)
      return this.current.size === 0 ? 'it holds no key that can be used' : null
    } catch (thrown) {
      return errorMessage(thrown)
    }
  }

  #pauseMs(): number {
    const { random = Math.random } = this.#options
    const ms = this.#failures === 0 ? refreshMs : Math.min(retryMs.max, retryMs.first * 2 ** (this.#failures - 1))
    return Math.round(ms * (0.9 + random() * 0.2)) // gateways that began together do not come together
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

/** Is keys that stand in a file: what the configuration was read with is what there is. */
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

const errorMessage = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))
