/** Digests alone: no store knows clients, credentials or keys. */
export interface KeyDigest {
  /** SHA-256 in base64url; `maxKeys` are counted by it. */
  readonly client: string
  /** The SHA-256 of client, operation and key, in base64url. */
  readonly name: string
}

export interface Claim extends KeyDigest {
  /** Who pays for the room, as SHA-256 in base64url: the client, or the address, of which attackers have few. */
  readonly share: string
  /** A gateway that was paused cannot settle another gateway's attempt. */
  readonly token: string
  /** The digest of query and body; null: a streaming body. */
  readonly fingerprint: string | null
  readonly requestId: string
  /** Of a settled record. */
  readonly ttlMs: number
  /** Without a renewal, the outcome is unknown then. */
  readonly leaseMs: number
  /** Repeats an unknown outcome with the same fingerprint. */
  readonly takesOver: boolean
  readonly maxKeys: number
}

/** `fingerprint` null: not known, or not yet. */
type FirstRequest = Pick<Claim, 'requestId' | 'fingerprint'>

/** `full`: no room, for this client or for any. The others: the key was used before. */
export type ClaimResult =
  | { readonly state: 'claimed' }
  | { readonly state: 'full'; readonly of: 'client' | 'store' }
  | ({ readonly state: 'in-progress' } & FirstRequest)
  | ({ readonly state: 'unknown' } & FirstRequest)
  /** `response` null: too large, or dropped for lack of room. */
  | ({ readonly state: 'done'; readonly response: Buffer | null } & FirstRequest)

/** `free`: certainly not processed. After an earlier attempt that may have been, the outcome stays unknown. */
export type Settlement =
  | { readonly state: 'free' }
  | { readonly state: 'unknown'; readonly fingerprint: string | null }
  | { readonly state: 'done'; readonly fingerprint: string | null; readonly response: Buffer | null }

/** For operators. Times are milliseconds since the epoch. */
export interface RecordSummary {
  /** `unreadable`: the stored response cannot be decrypted. A claim gets `unknown`. */
  readonly state: 'in-progress' | 'unknown' | 'done' | 'unreadable'
  /** Of the first request with the key. */
  readonly requestId: string
  readonly claimedAt: number
  readonly expiresAt: number
  readonly responseBytes: number | null
}

/** Plain data, as another process may reply. A store has a method of each type. */
export type IdempotencyCall =
  | { readonly type: 'claim'; readonly claim: Claim }
  | { readonly type: 'settle'; readonly claim: Claim; readonly settlement: Settlement }
  | { readonly type: 'renew'; readonly claim: Claim }
  | { readonly type: 'find'; readonly key: KeyDigest }
  | { readonly type: 'forget'; readonly key: KeyDigest }

/** False: the attempt no longer holds the claim, or no record. */
export interface IdempotencyReplies {
  readonly claim: ClaimResult
  readonly settle: boolean
  readonly renew: boolean
  readonly find: RecordSummary | false
  readonly forget: boolean | 'in-progress'
}

export type IdempotencyReply = IdempotencyReplies[IdempotencyCall['type']]

export type CallOf<Type extends IdempotencyCall['type']> = Extract<IdempotencyCall, { readonly type: Type }>

/** Resolves with null without a reply: then a request that must happen once may not be forwarded. Never rejects. */
export interface IdempotencyStore {
  /** Why the last call failed, for operators. */
  readonly failure?: string | null
  call<Type extends IdempotencyCall['type']>(call: CallOf<Type>): Promise<IdempotencyReplies[Type] | null>
}

/**
 * `free`: certainly not processed. `abandoned`: continues without its client. `unkept`: processed before, response not
 * stored. `rejected`: the key could not be stored. `unprotected`: not stored either, but forwarded.
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
