/**
 * The name of what a client wants to happen once. Both parts are digests: no store knows clients, credentials or keys.
 */
export interface KeyDigest {
  /** The SHA-256 of the client, in base64url: `maxKeys` are counted by it. */
  readonly client: string
  /** The SHA-256 of the client, the operation and the idempotency key, in base64url. */
  readonly name: string
}

/** An attempt to be the one request that is forwarded for a key. */
export interface Claim extends KeyDigest {
  /**
   * The SHA-256 of whose share of a store in memory the record takes, in base64url: that of the client, or of an
   * address where the gateway knows no client. A stranger has as many credentials as it makes up, and one address.
   */
  readonly share: string
  /** Names this attempt. A gateway that was paused cannot settle the attempt of another one. */
  readonly token: string
  /** The digest of query and body; null: it is not known before the body has been forwarded. */
  readonly fingerprint: string | null
  /** The id of the request, for the log of those that repeat it. */
  readonly requestId: string
  /** How long the record is kept once it is settled, in milliseconds. */
  readonly ttlMs: number
  /** How long the attempt may go without a renewal. Then its outcome is unknown. */
  readonly leaseMs: number
  /** Whether an attempt with the same fingerprint whose outcome is unknown may be made again. */
  readonly takesOver: boolean
  readonly maxKeys: number
}

interface FirstRequest {
  readonly requestId: string
  /** The digest of its query and body; null: it is not known, or not yet. */
  readonly fingerprint: string | null
}

/**
 * The result of a claim. `claimed`: the attempt may be made. `full`: there is no room, for this client or for any. All
 * others: the key came before.
 */
export type ClaimResult =
  | { readonly state: 'claimed' }
  | { readonly state: 'full'; readonly of: 'client' | 'store' }
  | ({ readonly state: 'in-progress' } & FirstRequest)
  | ({ readonly state: 'unknown' } & FirstRequest)
  /** `response` null: it is too large, or was given up for want of room. */
  | ({ readonly state: 'done'; readonly response: Buffer | null } & FirstRequest)

/**
 * The end of an attempt. `free`: the upstream has certainly not processed it, and the key may be used again. Where an
 * attempt before it may have been processed, the outcome is unknown as before.
 */
export type Settlement =
  | { readonly state: 'free' }
  | { readonly state: 'unknown'; readonly fingerprint: string | null }
  | { readonly state: 'done'; readonly fingerprint: string | null; readonly response: Buffer | null }

/** What operators see of a record. Times are milliseconds since the epoch. */
export interface RecordSummary {
  /** `unreadable`: it is done, and its response cannot be decrypted. A claim is told that its outcome is unknown. */
  readonly state: 'in-progress' | 'unknown' | 'done' | 'unreadable'
  /** The id of the first request with the key, and when it was claimed. */
  readonly requestId: string
  readonly claimedAt: number
  readonly expiresAt: number
  readonly responseBytes: number | null
}

/** One call of a store, as plain data: another process may have to answer it. */
export type IdempotencyCall =
  | { readonly type: 'claim'; readonly claim: Claim }
  | { readonly type: 'settle'; readonly claim: Claim; readonly settlement: Settlement }
  | { readonly type: 'renew'; readonly claim: Claim }
  | { readonly type: 'find'; readonly key: KeyDigest }
  | { readonly type: 'forget'; readonly key: KeyDigest }

export interface IdempotencyReplies {
  readonly claim: ClaimResult
  /** False: the attempt is no longer this one's. */
  readonly settle: boolean
  readonly renew: boolean
  /** False: there is no record. */
  readonly find: RecordSummary | false
  /** False: there was none. An attempt that is under way is left alone. */
  readonly forget: boolean | 'in-progress'
}

export type IdempotencyReply = IdempotencyReplies[IdempotencyCall['type']]

export type CallOf<Type extends IdempotencyCall['type']> = Extract<IdempotencyCall, { readonly type: Type }>

/**
 * Remembers what each key of a client led to. Resolves with null when it cannot be asked: then nothing may be
 * forwarded that has to happen once. Never rejects.
 */
export interface IdempotencyStore {
  /** Why it could not be asked last, for operators; null: that is not known. */
  readonly failure?: string | null
  call<Type extends IdempotencyCall['type']>(call: CallOf<Type>): Promise<IdempotencyReplies[Type] | null>
}
