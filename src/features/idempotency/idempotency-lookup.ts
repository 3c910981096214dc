import type { Config } from '../../core/config/config.ts'
import type { RequestOwner } from '../../core/exchange/request-owner.ts'
import { tryOrNull } from '../../core/lib/try.ts'
import type { OperationId } from '../../operations.ts'
import { parseIdempotencyKey } from './idempotency-key.ts'
import type { IdempotencyLease } from './idempotency-registry.ts'
import { findKeyOwner, toKeyDigest } from './key-digest.ts'
import type { IdempotencyReplies, KeyDigest, RecordSummary } from './store/idempotency-store.ts'

/** A key as a client or its support names it. */
export interface KeyReference {
  readonly operation: OperationId
  /** As in the request: as a string of structured fields, or bare. */
  readonly key: string
  /** Whose it is: a client of the file, or an address where no client is asked who it is. */
  readonly owner: RequestOwner
}

/** Why a key cannot be looked up: no key looks like that, the operation has no idempotency, or the store is away. */
export type LookupFailure = 'malformed' | 'off' | 'unavailable'

interface LookupParts {
  readonly config: Config
  readonly idempotency: IdempotencyLease | null
}

/** Finds what is remembered of a key. False: nothing is. */
export const findKeyRecord = async (
  parts: LookupParts,
  reference: KeyReference,
): Promise<RecordSummary | false | LookupFailure> => {
  const found = locate(parts, reference)
  if (typeof found === 'string') return found
  return (await found.lease.store.call({ type: 'find', key: found.digest })) ?? 'unavailable'
}

/** Forgets a key. False: nothing was remembered of it. `in-progress`: it was left alone. */
export const forgetKeyRecord = async (
  parts: LookupParts,
  reference: KeyReference,
): Promise<IdempotencyReplies['forget'] | LookupFailure> => {
  const found = locate(parts, reference)
  if (typeof found === 'string') return found
  return (await found.lease.store.call({ type: 'forget', key: found.digest })) ?? 'unavailable'
}

const locate = (
  { config, idempotency }: LookupParts,
  { operation, key, owner }: KeyReference,
): { readonly lease: IdempotencyLease; readonly digest: KeyDigest } | LookupFailure => {
  const policy = config.operations[operation].idempotency
  if (idempotency === null || policy === null) return 'off'
  const { header, maxKey } = policy
  // What is wrong with it is for the client of a request.
  const parsed = tryOrNull(() => parseIdempotencyKey([header, key], header, maxKey))
  if (parsed === null) return 'malformed'
  // An address is named as in a request that has no credentials.
  const named = 'client' in owner ? owner : findKeyOwner(null, [], owner.address, [])
  return { lease: idempotency, digest: toKeyDigest(named, operation, parsed) }
}
