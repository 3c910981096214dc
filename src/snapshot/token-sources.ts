import type { IntrospectionConfig, JwtConfig } from '../config/config.ts'
import type { ClaimsOf } from '../layers/auth/claims.ts'
import { Introspector, introspect } from '../layers/auth/introspection.ts'
import { fixedKeys, KeyKeeper, type Keys, type KeysState } from '../layers/auth/jwt/keys.ts'
import { jwtVerifier } from '../layers/auth/jwt/verify.ts'
import type { StandingState } from '../layers/auth/standing.ts'
import { Kept } from '../shared/kept.ts'
import { openServer } from '../shared/server.ts'
import type { Tell } from '../upstream/notices.ts'

// One answer is about one token. More connections than that would be a flood.
const introspectionBounds = { maxBytes: 64 * 1024, connections: 32 } as const

/** Is what tells of tokens, as long as it is needed. */
export interface HeldSource<State> {
  readonly claimsOf: ClaimsOf
  state(): State
  release(): void
}

interface Source<State> {
  readonly claimsOf: ClaimsOf
  state(): State
  close(): void
}

/** Keeps what tells of tokens as long as any snapshot needs it: keys, and what was found out with them, outlive an edit of something else. */
export class TokenSources {
  readonly #tell: Tell
  readonly #keys = new Kept<Keys>()
  readonly #verifiers = new Kept<ClaimsOf>()
  readonly #introspectors = new Kept<Source<StandingState>>()

  constructor(tell: Tell) {
    this.#tell = tell
  }

  /** Makes what verifies tokens, or takes the one that there is. */
  holdJwt(config: JwtConfig): HeldSource<KeysState> {
    const place = JSON.stringify(config.jwks)
    const name = JSON.stringify(config)
    const keys = this.#keys.hold(place, () => this.#openKeys(config.jwks))
    const claimsOf = this.#verifiers.hold(name, () => jwtVerifier(keys, config))
    return {
      claimsOf,
      state: () => keys.state(),
      release: () => {
        this.#verifiers.release(name)
        this.#keys.release(place)?.close()
      },
    }
  }

  /** Makes what asks about tokens, or takes the one that there is. */
  holdIntrospection(config: IntrospectionConfig): HeldSource<StandingState> {
    const name = JSON.stringify(config)
    const source = this.#introspectors.hold(name, () => this.#openIntrospector(config))
    return { ...source, release: () => this.#introspectors.release(name)?.close() }
  }

  #openKeys(jwks: JwtConfig['jwks']): Keys {
    if ('text' in jwks) return fixedKeys(jwks.text)
    const url = new URL(jwks.url)
    const issuer = openIssuer(url)
    return new KeyKeeper({
      fetch: () => issuer.fetchKeys(),
      onChange: (reason) => {
        if (reason === null) this.#tell('info', 'keys of the issuer are fetched again', { from: url.origin })
        else this.#tell('warn', 'keys of the issuer cannot be fetched', { from: url.origin, reason })
      },
      onClose: () => issuer.close(),
    })
  }

  #openIntrospector(config: IntrospectionConfig): Source<StandingState> {
    const url = new URL(config.url)
    const server = openServer(url, { ...introspectionBounds, timeoutMs: config.timeout })
    const introspector = new Introspector({
      ...config,
      ask: (token) => introspect(server, config, token),
      onChange: (reason) => {
        if (reason === null) this.#tell('info', 'tokens are introspected again', { at: url.origin })
        else this.#tell('warn', 'tokens cannot be introspected', { at: url.origin, reason })
      },
    })
    return {
      claimsOf: (token) => introspector.claimsOf(token),
      state: () => introspector.state(),
      close: () => server.close(),
    }
  }
}

// Far more than any issuer's keys take, and time enough for one that is slow.
const issuerBounds = { maxBytes: 256 * 1024, timeoutMs: 5000, connections: 1 } as const

/** The server that publishes keys at a URL. */
export interface Issuer {
  /** Fetches the text of its JWK Set. Rejects with an Error whose message is for operators. */
  fetchKeys(): Promise<string>
  /** Breaks off whatever is fetched. */
  close(): void
}

/** Knows how to fetch the keys at a URL: 256 KiB at most, within 5 s. */
export const openIssuer = (url: URL): Issuer => {
  const server = openServer(url, issuerBounds)
  return {
    async fetchKeys() {
      const { status, text } = await server.ask({
        method: 'GET',
        headers: { accept: 'application/jwk-set+json, application/json' },
      })
      if (status !== 200) throw new Error(`it answered ${status}`)
      return text
    },
    close: () => server.close(),
  }
}
