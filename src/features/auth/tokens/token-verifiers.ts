import { RefCountedMap } from '../../../core/lib/memo.ts'
import type { LogEvent } from '../../../core/log/log.ts'
import type { IntrospectionConfig, JwtConfig } from '../config.ts'
import { createHttpClient } from './http-client.ts'
import { createIntrospector, introspect } from './introspection.ts'
import {
  createJwksCache,
  type FetchedJwks,
  type IssuerKeys,
  type JwksCache,
  staticIssuerKeys,
} from './jwt/jwks-cache.ts'
import { type JwtVerifier, jwtVerifier } from './jwt/jwt-verifier.ts'

export type TokenVerifiers = ReturnType<typeof createTokenVerifiers>
export type JwtVerifierLease = ReturnType<TokenVerifiers['acquireJwt']>

/** The last fetched set of a URL: plain data of at most 256 KiB, for other processes. */
export interface KeysHandover extends FetchedJwks {
  readonly url: string
}

/**
 * Keys and verified tokens stay when other settings are edited. `onKeysFetched` gets sets that this process fetched.
 */
export const createTokenVerifiers = (logEvent: LogEvent, onKeysFetched: (keys: KeysHandover) => void = () => {}) => {
  /** By URL; only keys that are fetched. */
  const jwksCaches = new Map<string, JwksCache>()
  const allKeys = new RefCountedMap<IssuerKeys>()
  const verifiers = new RefCountedMap<JwtVerifier>()
  const introspectors = new RefCountedMap<ReturnType<typeof openIntrospector>>()

  const openKeys = (jwks: JwtConfig['jwks']): IssuerKeys => {
    if ('text' in jwks) return staticIssuerKeys(jwks.text)
    const url = new URL(jwks.url)
    const fetcher = createJwksFetcher(url)
    const cache = createJwksCache({
      fetch: () => fetcher.fetchJwks(),
      onChange: (reason) => {
        if (reason === null) logEvent('info', 'keys of the issuer are fetched again', { from: url.origin })
        else logEvent('warn', 'keys of the issuer cannot be fetched', { from: url.origin, reason })
      },
      onFetched: (fetched) => onKeysFetched({ url: jwks.url, ...fetched }),
      onClose: () => {
        jwksCaches.delete(jwks.url)
        fetcher.close()
      },
    })
    jwksCaches.set(jwks.url, cache)
    return cache
  }

  return {
    keysToHandOver: (): readonly KeysHandover[] =>
      [...jwksCaches].flatMap(([url, { fetched }]) => (fetched === null ? [] : [{ url, ...fetched }])),
    adoptKeys({ url, ...fetched }: KeysHandover): void {
      jwksCaches.get(url)?.adopt(fetched)
    },
    acquireJwt(config: JwtConfig) {
      const [keysName, name] = [JSON.stringify(config.jwks), JSON.stringify(config)]
      const keys = allKeys.acquire(keysName, () => openKeys(config.jwks))
      return {
        ...verifiers.acquire(name, () => jwtVerifier(keys, config)),
        state: () => keys.state(),
        release: () => {
          verifiers.release(name)
          allKeys.release(keysName)?.close()
        },
      }
    },
    acquireIntrospection(config: IntrospectionConfig) {
      const name = JSON.stringify(config)
      const source = introspectors.acquire(name, () => openIntrospector(config, logEvent))
      return { ...source, release: () => introspectors.release(name)?.close() }
    },
  }
}

const openIntrospector = (config: IntrospectionConfig, logEvent: LogEvent) => {
  const url = new URL(config.url)
  // For one token's response; the number of connections bounds a flood.
  const server = createHttpClient(url, { maxBytes: 64 * 1024, connections: 32, timeoutMs: config.timeout })
  let isClosed = false
  const introspector = createIntrospector({
    ...config,
    introspect: (token) => introspect(server, config, token),
    onChange: (reason) => {
      // Closing rejects running requests, which says nothing about the server.
      if (isClosed) return
      if (reason === null) logEvent('info', 'tokens are introspected again', { at: url.origin })
      else logEvent('warn', 'tokens cannot be introspected', { at: url.origin, reason })
    },
  })
  return {
    ...introspector,
    close: () => {
      isClosed = true
      server.close()
    },
  }
}

export const jwksTimeoutMs = 5000

/** At most 256 KiB: far more than any issuer's keys. */
export const createJwksFetcher = (url: URL, timeoutMs: number = jwksTimeoutMs) => {
  const server = createHttpClient(url, { maxBytes: 256 * 1024, connections: 1, timeoutMs })
  return {
    /** The error's message is for operators. */
    async fetchJwks(): Promise<string> {
      const { status, text } = await server.request({
        method: 'GET',
        headers: { accept: 'application/jwk-set+json, application/json' },
      })
      if (status !== 200) throw new Error(`it responded with ${status}`)
      return text
    },
    close: () => server.close(),
  }
}
