/** Digests: no store sees clients, credentials or keys. */
export interface KeyDigest {
  /** SHA-256 in base64url; `maxKeys` counts by it. */
  readonly client: string
  /** SHA-256 of client, operation and key, in base64url. */
  readonly name: string
}

export interface Claim extends KeyDigest {
  /** Whose share of the room it takes: the client's, or the address's, of which attackers have few. A SHA-256. */
  readonly share: string
  /** Without it, a gateway that was paused could settle another gateway's attempt. */
  readonly token: string
  /** Digest of query and body; null: the body streams. */
  readonly fingerprint: string | null
  readonly requestId: string
  /** Of a settled record. */
  readonly ttlMs: number
  /** Without a renewal for this long, the outcome is unknown. */
  readonly leaseMs: number
  /** Repeats a request whose outcome is unknown if the fingerprint is the same. */
  readonly takesOver: boolean
  readonly maxKeys: number
}

/** `fingerprint` null: unknown so far. */
type FirstRequest = Pick<Claim, 'requestId' | 'fingerprint'>

/** `full`: no room, for this client or for all. Other states: the key was used before. */
export type ClaimResult =
  | { readonly state: 'claimed' }
  | { readonly state: 'full'; readonly of: 'client' | 'store' }
  | ({ readonly state: 'in-progress' } & FirstRequest)
  | ({ readonly state: 'unknown' } & FirstRequest)
  /** `response` null: too large, or dropped to make room. */
  | ({ readonly state: 'done'; readonly response: Buffer | null } & FirstRequest)

/** `free`: certainly not processed. If an earlier attempt may have been, the outcome stays unknown. */
export type Settlement =
  | { readonly state: 'free' }
  | { readonly state: 'unknown'; readonly fingerprint: string | null }
  | { readonly state: 'done'; readonly fingerprint: string | null; readonly response: Buffer | null }

/** Times: milliseconds since the epoch. */
export interface RecordSummary {
  /** `unreadable`: the stored response cannot be decrypted. A claim gets `unknown`. */
  readonly state: 'in-progress' | 'unknown' | 'done' | 'unreadable'
  /** Of the first request with the key. */
  readonly requestId: string
  readonly claimedAt: number
  readonly expiresAt: number
  readonly responseBytes: number | null
}

/** Plain data, because another process may reply. A store has a method for each type. */
export type IdempotencyCall =
  | { readonly type: 'claim'; readonly claim: Claim }
  | { readonly type: 'settle'; readonly claim: Claim; readonly settlement: Settlement }
  | { readonly type: 'renew'; readonly claim: Claim }
  | { readonly type: 'find'; readonly key: KeyDigest }
  | { readonly type: 'forget'; readonly key: KeyDigest }

/** False: the claim is no longer held, or no record. */
export interface IdempotencyReplies {
  readonly claim: ClaimResult
  readonly settle: boolean
  readonly renew: boolean
  readonly find: RecordSummary | false
  readonly forget: boolean | 'in-progress'
}

export type IdempotencyReply = IdempotencyReplies[IdempotencyCall['type']]

export type CallOf<Type extends IdempotencyCall['type']> = Extract<IdempotencyCall, { readonly type: Type }>

/** Resolves with null without a reply: then a request that must happen once is not forwarded. Never rejects. */
export interface IdempotencyStore {
  readonly failure?: string | null
  call<Type extends IdempotencyCall['type']>(call: CallOf<Type>): Promise<IdempotencyReplies[Type] | null>
}

/**
 * `free`: certainly not processed. `abandoned`: continues without its client. `unkept`: processed before, response not
 * stored. `rejected`: the key could not be stored, so the request was rejected. `unprotected`: the key could not be
 * stored, and the request was forwarded.
 */
export const zeroIdempotencyOutcomes = {
  processed: 0,
  free: 0,
  unknown: 0,
  abandoned: 0,
  replayed: 0,
  'in-progress': 0,
  'outcome-unknown': 0,
  unkept: 0,
  reused: 0,
  rejected: 0,
  unprotected: 0,
}

export type IdempotencyOutcome = keyof typeof zeroIdempotencyOutcomes
