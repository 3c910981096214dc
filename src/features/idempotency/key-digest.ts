import { hash } from 'node:crypto'
import type { ClientIdentity, Exchange } from '../../core/exchange/exchange.ts'
import { fieldNameEquals, type HeaderFields } from '../../core/exchange/header-fields.ts'
import { findRequestOwner, formatOwner, type RequestOwner } from '../../core/exchange/request-owner.ts'
import type { OperationId } from '../../operations.ts'
import type { KeyDigest } from './store/idempotency-store.ts'

/** Whose key it is: a client of the file, the holder of some credentials, or an address where neither is known. */
type KeyOwner = RequestOwner | { readonly credentials: readonly string[] }

/**
 * `credentialFields` are the fields, in lower case, by which upstreams tell clients apart when the gateway
 * authenticates no client.
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
    for (const lower of credentialFields)
      if (fieldNameEquals(fields[i] as string, lower)) credentials.push(lower, fields[i + 1] as string)
  }
  return credentials.length > 0 ? { credentials } : owner
}

/** Digests whose key it is, the operation and the key itself. No two different ones have the same digest. */
export const toKeyDigest = (owner: KeyOwner, operation: OperationId, key: string): KeyDigest => {
  const client = 'credentials' in owner ? digest(owner) : digestNamedOwner(owner)
  return { client, name: digest([client, operation, key]) }
}

/** Digests whose share of the room a request takes: that of a client of the file, or of its address. */
export const toShareDigest = (exchange: Pick<Exchange, 'identity' | 'client'>): string =>
  digestNamedOwner(findRequestOwner(exchange))

// Digests of owners whose names are no secrets, until there are so many: nearly every request is of one of them.
const digestsByOwner = new Map<string, string>()
const maxDigests = 1000

const digestNamedOwner = (owner: RequestOwner): string => {
  const name = formatOwner(owner)
  const known = digestsByOwner.get(name)
  if (known !== undefined) return known
  if (digestsByOwner.size >= maxDigests) digestsByOwner.clear()
  const client = digest(owner)
  digestsByOwner.set(name, client)
  return client
}

const digest = (value: unknown): string => hash('sha256', JSON.stringify(value), 'base64url')
