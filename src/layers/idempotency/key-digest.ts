import { hash } from 'node:crypto'
import type { ClientIdentity } from '../../exchange.ts'
import { fieldNameEquals, type HeaderFields } from '../../header-fields.ts'
import type { OperationId } from '../../operations.ts'
import { findRequestOwner, type RequestOwner } from '../../shared/exchange/request-owner.ts'
import type { KeyDigest } from '../../shared/idempotency/idempotency-store.ts'

/** Whose key it is: a client of the file, the holder of some credentials, or an address where neither is known. */
export type KeyOwner = RequestOwner | { readonly credentials: readonly string[] }

/**
 * Finds the owner of a request's key. `credentialFields` are the fields, in lower case, by which upstreams tell clients
 * apart when the gateway authenticates no client.
 */
export const findKeyOwner = (
  identity: ClientIdentity | null,
  fields: HeaderFields,
  address: string,
  credentialFields: readonly string[],
): KeyOwner => {
  const owner = findRequestOwner({ identity, client: address })
  if (identity !== null) return owner
  const credentials: string[] = []
  for (let i = 0; i < fields.length; i += 2) {
    const lower = credentialFields.find((each) => fieldNameEquals(fields[i] as string, each))
    if (lower !== undefined) credentials.push(lower, fields[i + 1] as string)
  }
  return credentials.length > 0 ? { credentials } : owner
}

/** Digests whose key it is, the operation and the key itself. No two different ones have the same digest. */
export const toKeyDigest = (owner: KeyOwner, operation: OperationId, key: string): KeyDigest => {
  const client = digest(owner)
  return { client, name: digest([client, operation, key]) }
}

/** Digests what a request asks for. The key is part of it: who sees the digest alone cannot try out what was sent. */
export const toFingerprint = (key: string, query: string, bodyDigest: string): string =>
  digest([key, query, bodyDigest])

const digest = (value: unknown): string => hash('sha256', JSON.stringify(value), 'base64url')
