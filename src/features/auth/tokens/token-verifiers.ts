import { RefCountedMap } from '../../../core/lib/memo.ts'
import type { LogEvent } from '../../../core/log/log.ts'
import type { IntrospectionConfig, JwtConfig } from '../config.ts'
import { createHttpClient } from './http-client.ts'
import { Introspector, introspect } from './introspection.ts'
import { type FetchedJwks, type IssuerKeys, JwksCache, staticIssuerKeys } from './jwt/jwks-cache.ts'
import { type JwtVerifier, jwtVerifier } from './jwt/jwt-verifier.ts'

// A response is about one token. More connections would be a flood.
const introspectionLimits = { maxBytes: 64 * 1024, connections: 32 } as const

export type JwtVerifierLease = ReturnType<TokenVerifiers['acquireJwt']>

/** The last fetched keys of a URL: plain data of at most 256 KiB, for other processes. */
export interface KeysHandover extends FetchedJwks {
  readonly url: string
}

/**
 * The sources of claims, each open as long as any snapshot needs it. Keys and verified tokens outlive an edit of other
 * settings.
 */
export class TokenVerifiers {
  readonly #logEvent: LogEvent
  readonly #onKeysFetched: (keys: KeysHandover) => void
  /** Those of `#keys` that are fetched, by URL. */
  readonly #jwksCaches = new Map<string, JwksCache>()
  readonly #keys = new RefCountedMap<IssuerKeys>()
  readonly #verifiers = new RefCountedMap<JwtVerifier>()
  readonly #introspectors = new RefCountedMap<ReturnType<typeof openIntrospector>>()

  /** `onKeysFetched` gets the keys that this process has fetched. */
  constructor(logEvent: LogEvent, onKeysFetched: (keys: KeysHandover) => void = () => {}) {
    this.#logEvent = logEvent
    this.#onKeysFetched = onKeysFetched
  }

  get keysToHandOver(): readonly KeysHandover[] {
    return [...this.#jwksCaches].flatMap(([url, { fetched }]) => (fetched === null ? [] : [{ url, ...fetched }]))
  }

  /** Keys of an unused URL are dropped. */
  adoptKeys({ url, ...fetched }: KeysHandover): void {
    this.#jwksCaches.get(url)?.adopt(fetched)
  }

  acquireJwt(config: JwtConfig) {
    const keysName = JSON.stringify(config.jwks)
    const name = JSON.stringify(config)
    const keys = this.#keys.acquire(keysName, () => this.#openKeys(config.jwks))
    const verifier = this.#verifiers.acquire(name, () => jwtVerifier(keys, config))
    return {
      ...verifier,
      state: () => keys.state(),
      release: () => {
        this.#verifiers.release(name)
        this.#keys.release(keysName)?.close()
      },
    }
  }

  acquireIntrospection(config: IntrospectionConfig) {
    const name = JSON.stringify(config)
    const source = this.#introspectors.acquire(name, () => openIntrospector(config, this.#logEvent))
    return { ...source, release: () => this.#introspectors.release(name)?.close() }
  }

  #openKeys(jwks: JwtConfig['jwks']): IssuerKeys {
    if ('text' in jwks) return staticIssuerKeys(jwks.text)
    const url = new URL(jwks.url)
    const fetcher = createJwksFetcher(url)
    const cache = new JwksCache({
      fetch: () => fetcher.fetchJwks(),
      onChange: (reason) => {
        if (reason === null) this.#logEvent('info', 'keys of the issuer are fetched again', { from: url.origin })
        else this.#logEvent('warn', 'keys of the issuer cannot be fetched', { from: url.origin, reason })
      },
      onFetched: (fetched) => this.#onKeysFetched({ url: jwks.url, ...fetched }),
      onClose: () => {
        this.#jwksCaches.delete(jwks.url)
        fetcher.close()
      },
    })
    this.#jwksCaches.set(jwks.url, cache)
    return cache
  }
}

const openIntrospector = (config: IntrospectionConfig, logEvent: LogEvent) => {
  const url = new URL(config.url)
  const server = createHttpClient(url, { ...introspectionLimits, timeoutMs: config.timeout })
  let isClosed = false
  const introspector = new Introspector({
    ...config,
    introspect: (token) => introspect(server, config, token),
    onChange: (reason) => {
      // Closing rejects the running requests, which says nothing about the server.
      if (isClosed) return
      if (reason === null) logEvent('info', 'tokens are introspected again', { at: url.origin })
      else logEvent('warn', 'tokens cannot be introspected', { at: url.origin, reason })
    },
  })
  return {
    getClaims: (token: string) => introspector.getClaims(token),
    state: () => introspector.state(),
    close: () => {
      isClosed = true
      server.close()
    },
  }
}

/** Enough for a slow issuer. */
export const jwksTimeoutMs = 5000

// Far more than any issuer's keys take.
const jwksLimits = { maxBytes: 256 * 1024, connections: 1 } as const

/** At most 256 KiB. */
export const createJwksFetcher = (url: URL, timeoutMs: number = jwksTimeoutMs) => {
  const server = createHttpClient(url, { ...jwksLimits, timeoutMs })
  return {
    /** Rejects with an Error whose message is for operators. */
    async fetchJwks(): Promise<string> {
      const { status, text } = await server.request({
        method: 'GET',
        headers: { accept: 'application/jwk-set+json, application/json' },
      })
      if (status !== 200) throw new Error(`it answered ${status}`)
      return text
    },
    close: () => server.close(),
  }
}
