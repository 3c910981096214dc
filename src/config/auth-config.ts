import type { OperationId } from '../catalog.ts'
import type { AuthMethod } from '../failures/reasons.ts'
import type { Algorithm } from '../shared/jwks/algorithms.ts'
import type { Rate } from '../units.ts'

/** Describes how it is found out who calls. */
export interface AuthConfig {
  /** Which ways there are, for operations that say nothing of their own: the first whose credential a request carries decides. */
  readonly methods: readonly AuthMethod[]
  readonly apiKey: { readonly field: string }
  /** Null: no method of these takes tokens that are verified here. */
  readonly jwt: JwtConfig | null
  /** Null: nobody is asked about tokens. */
  readonly introspection: IntrospectionConfig | null
  readonly mtls: MtlsConfig
  /** Whether tokens that are bound to nothing are refused; what one is bound to is asked for in any case. */
  readonly bound: 'none' | 'required'
  /** Null: proofs of possession are not taken. */
  readonly dpop: DpopConfig | null
  /** Whether upstreams get the credentials that were checked here. */
  readonly credentials: 'forward' | 'strip'
  /** The field in which upstreams are told whose request it is; null: none. Whatever clients send in it is removed. */
  readonly identityField: string | null
}

/** Describes the tokens of an issuer that are verified here. */
export interface JwtConfig {
  readonly issuer: string
  /** One of these must stand in `aud`. */
  readonly audience: readonly string[]
  /** Where its keys are: a URL, or the text of a JWK Set. */
  readonly jwks: { readonly url: string } | { readonly text: string }
  readonly algorithms: readonly Algorithm[]
  /** What `typ` may be, in lower case and without `application/`. */
  readonly types: readonly string[]
  readonly toleranceMs: number
}

/** Describes the server that is asked about tokens. */
export interface IntrospectionConfig {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  /** Null: any. */
  readonly issuer: string | null
  readonly audience: readonly string[] | null
  readonly timeoutMs: number
  /** How long an answer is believed; 0: not at all. */
  readonly cacheMs: number
  readonly toleranceMs: number
}

/** Describes where certificates of clients come from. */
export interface MtlsConfig {
  /** Their own connections, or the field of RFC 9440 from proxies that are believed. */
  readonly from: 'connection' | 'client-cert'
  /** Who has to have issued what comes in the field (PEM); null: anybody. */
  readonly ca: string | null
}

/** Describes the proofs that whoever sends a token holds its key (RFC 9449). */
export interface DpopConfig {
  readonly algorithms: readonly Algorithm[]
  readonly maxAgeMs: number
  readonly toleranceMs: number
  /** What is done where Redis cannot be asked whether a proof came to another gateway before. */
  readonly withoutRedis: 'refuse' | 'serve'
}

/** Describes what one operation asks for. */
export interface OperationAuthConfig {
  readonly methods: readonly AuthMethod[]
  /** What a token must be good for. */
  readonly scopes: readonly string[]
  /** What a token must say. */
  readonly claims: Readonly<Record<string, string>>
}

/** Describes a lender's system. */
export interface ClientConfig {
  readonly id: string
  /** Whether it is let in at all. */
  readonly disabled: boolean
  readonly apiKeys: readonly ApiKeyConfig[]
  /** What a token must say to be its own, by claim; none: no token is. */
  readonly claims: Readonly<Record<string, string>>
  /** What its certificates are known by: `dns:`, `uri:` or `email:` and a name, or `sha256:` and a digest in base64url. */
  readonly certificates: readonly string[]
  /** What it may call; null: all nine. */
  readonly operations: readonly OperationId[] | null
  /** CIDRs that it may call from; none: any. */
  readonly addresses: readonly string[]
  /** How often it may ask, from wherever; null: as often as it likes. */
  readonly rate: ClientRateConfig | null
  /** Most exchanges that it has in flight. */
  readonly concurrency: number | null
}

/** Describes how often a client may ask. */
export interface ClientRateConfig {
  readonly rate: Rate
  /** How many requests at once. */
  readonly burst: number
}

/** Describes where the clients stand. */
export interface ClientsSource {
  /** In order: a file, as the configuration refers to it, or (null) the configuration's own; and how many it holds. */
  readonly parts: readonly { readonly file: string | null; readonly count: number }[]
  /** The SHA-256 of all of them as resolved, in hex; of none, empty. */
  readonly digest: string
}

/** Describes an API key: its secret is 256 random bits, so a plain digest of it tells nothing. */
export interface ApiKeyConfig {
  /** The public half, by which it is found. */
  readonly id: string
  /** The SHA-256 of the secret half, in hex. */
  readonly sha256: string
}
