import { later, now, wallClock } from '../../../clock.ts'
import { type KeySet, readKeySet } from '../../../shared/jwks/key-set.ts'
import { Unavailable } from '../refused.ts'
import { Standing, type StandingState } from '../standing.ts'

// Keys are renewed seldom, and a new one is fetched as soon as a token names it.
const refreshMs = 5 * 60_000
// After a failure: soon, then more and more seldom, so that what comes back is used again within so long.
const retryMs = { first: 1000, most: 15_000 } as const
// Anybody can name a key that nobody knows: so many fetches at once, and one a second.
const seeks = { burst: 3, perMs: 1 / 1000 } as const

/** Is the keys of an issuer as time goes by. */
export interface Keys {
  /** The newest set that could be had, however old; null: none yet. */
  readonly current: KeySet | null
  /** Waits for the first set. Rejects with {@link Unavailable} when it cannot be had now. */
  first(): Promise<KeySet>
  /** Looks for newer keys, because `isFound` says that one is missing. Rejects with {@link Unavailable} when nobody can tell. */
  seek(isFound: () => boolean): Promise<void>
  state(): KeysState
  /** Fetches no more. */
  close(): void
}

/** Is how it stands with the keys of an issuer, as plain data. */
export interface KeysState extends StandingState {
  readonly source: 'url' | 'file'
  readonly keys: number
}

/** Is what a keeper of keys needs. */
export interface KeeperOptions {
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
export class KeyKeeper implements Keys {
  current: KeySet | null = null
  readonly #options: KeeperOptions
  readonly #standing: Standing
  #running: Promise<void> | null = null
  #isClosed = false
  #failures = 0
  #stop = (): void => {}
  /** How many more fetches whoever names unknown keys may cause, when that was last counted. */
  #allowed: number = seeks.burst
  #countedAt = now()

  constructor(options: KeeperOptions) {
    this.#options = options
    this.#standing = new Standing(options.onChange, 0)
    void this.#fetch()
  }

  async first(): Promise<KeySet> {
    if (this.current === null && this.#standing.error === null) await this.#running
    if (this.current === null) throw new Unavailable('issuer-keys', this.#reason())
    return this.current
  }

  async seek(isFound: () => boolean): Promise<void> {
    // While they cannot be had, nobody is kept waiting to hear it once more.
    if (this.#standing.error === null && this.#running !== null) {
      await this.#running
      if (isFound()) return
    }
    // What ran may have begun before the key was made known: one that begins now has not.
    if (this.#standing.error === null && (this.#running !== null || this.#isAllowed())) await this.#fetch()
    if (this.#standing.error !== null) throw new Unavailable('issuer-keys', this.#reason())
  }

  state(): KeysState {
    return { source: 'url', keys: this.current?.size ?? 0, ...this.#standing.state() }
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
      (text) => this.#take(text),
      (thrown: unknown) => messageOf(thrown),
    )
    if (this.#isClosed) return
    this.#failures = error === null ? 0 : this.#failures + 1
    if (error === null) this.#standing.answered()
    else this.#standing.failed(error)
    this.#stop = later(this.#pauseMs(), () => void this.#fetch())
  }

  /** Takes a set that was fetched; null, or why it is of no use. An empty one is taken at its word: the keys before it are good no more. */
  #take(text: string): string | null {
    try {
      this.current = readKeySet(text, this.current)
      return this.current.size === 0 ? 'it holds no key that can be used' : null
    } catch (thrown) {
      return messageOf(thrown)
    }
  }

  #pauseMs(): number {
    const { random = Math.random } = this.#options
    const ms = this.#failures === 0 ? refreshMs : Math.min(retryMs.most, retryMs.first * 2 ** (this.#failures - 1))
    return Math.round(ms * (0.9 + random() * 0.2)) // gateways that began together do not come together
  }

  #isAllowed(): boolean {
    const at = now()
    this.#allowed = Math.min(seeks.burst, this.#allowed + (at - this.#countedAt) * seeks.perMs)
    this.#countedAt = at
    if (this.#allowed < 1) return false
    this.#allowed--
    return true
  }

  #reason(): string {
    return `the keys of the issuer cannot be had: ${this.#standing.error ?? 'closed'}`
  }
}

/** Is keys that stand in a file: what the configuration was read with is what there is. */
export const fixedKeys = (text: string): Keys => {
  const current = readKeySet(text, null)
  const since = wallClock()
  return {
    current,
    first: async () => current,
    seek: async () => {},
    state: () => ({ source: 'file', keys: current.size, error: null, since, lastSuccess: since }),
    close: () => {},
  }
}

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))
