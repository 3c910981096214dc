import { hash } from 'node:crypto'
import { parseItem } from 'structured-headers'
import type { ClientIdentity, Exchange } from '../../core/exchange/exchange.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import { fieldNameEquals, foldUnderscores, type HeaderFields } from '../../core/exchange/header-fields.ts'
import { findRequestOwner, formatOwner, type RequestOwner } from '../../core/exchange/request-owner.ts'
import type { OperationId } from '../../operations.ts'
import type { KeyDigest } from './store/idempotency-store.ts'

/**
 * Reads the key of idempotency of a request; null: there is none. `field` is its name in lower case. The string of
 * draft-ietf-httpapi-idempotency-key-header-07 §2.1 (`"8e03"`) and the bare form that most clients send (`8e03`) are
 * the same key. Throws `idempotency-key-invalid` for a key that is empty, longer than `maxLength` characters or none of
 * both forms, and for two keys: it is unknown which one an upstream would take. A CGI-like upstream reads
 * `Idempotency_Key` as the same field.
 */
export const parseIdempotencyKey = (fields: HeaderFields, field: string, maxLength: number): string | null => {
  let value: string | null = null
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (name.length !== field.length || foldUnderscores(name) !== field) continue
    if (name.includes('_')) throw invalidKey('the name of its field has an underscore')
    if (value !== null) throw invalidKey('there are two')
    value = (fields[i + 1] as string).trim()
  }
  if (value === null) return null
  const key = value.startsWith('"') ? parseString(value, maxLength) : value
  if (key === '') throw invalidKey('it is empty')
  if (key.length > maxLength) throw invalidKey(`it is longer than ${maxLength} characters`)
  if (key === value && !bareKey.test(key)) throw invalidKey('it has a character that no key has')
  return key
}

// Visible characters and blanks between them, but for those that would make it a list, or the rest of a quoted string.
const bareKey = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e](?:[\x20\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]*)$/

// A key may be escaped throughout, and have parameters, which mean nothing (RFC 9651 §3.3.3, §3.1.2).
const maxParsedLength = (maxLength: number): number => 2 * maxLength + 258

/** Reads a string of structured fields (RFC 9651 §4.2.5). */
const parseString = (value: string, maxLength: number): string => {
  if (value.length > maxParsedLength(maxLength)) throw invalidKey(`it is longer than ${maxLength} characters`)
  try {
    const [item] = parseItem(value)
    if (typeof item === 'string') return item
  } catch {
    // The reason of the library quotes what the client sent.
  }
  throw invalidKey('it is no string of structured fields')
}

const invalidKey = (why: string): GatewayError => new GatewayError('idempotency-key-invalid', { cause: why })

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
