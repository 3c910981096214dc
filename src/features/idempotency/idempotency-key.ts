import { hash } from 'node:crypto'
import { parseItem } from 'structured-headers'
import type { ClientIdentity, Exchange } from '../../core/exchange/exchange.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import { fieldNameEquals, foldUnderscores, type HeaderFields } from '../../core/exchange/header-fields.ts'
import { findRequestOwner, formatOwner, type RequestOwner } from '../../core/exchange/request-owner.ts'
import type { OperationId } from '../../operations.ts'
import type { KeyDigest } from './store/idempotency-store.ts'

/**
 * Null: no key. `field`: in lower case. The string of draft-ietf-httpapi-idempotency-key-header-07 §2.1 (`"8e03"`) and
 * most clients' bare form (`8e03`) are the same key. Throws `idempotency-key-invalid` for a malformed key, for more
 * than `maxLength` characters, and for two keys: an upstream may read either. CGI-like upstreams read `Idempotency_Key`
 * too.
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
  if (key === value && !bareKey.test(key)) throw invalidKey('it has a character that is not allowed')
  return key
}

// Visible characters and blanks, except the delimiters of lists and quoted strings.
const bareKey = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e](?:[\x20\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]*)$/

// Every character may be escaped, and parameters are ignored (RFC 9651 §3.3.3, §3.1.2).
const maxParsedLength = (maxLength: number): number => 2 * maxLength + 258

/** RFC 9651 §4.2.5. */
const parseString = (value: string, maxLength: number): string => {
  if (value.length > maxParsedLength(maxLength)) throw invalidKey(`it is longer than ${maxLength} characters`)
  try {
    const [item] = parseItem(value)
    if (typeof item === 'string') return item
  } catch {
    // The library's message quotes the client.
  }
  throw invalidKey('it is not a string of structured fields')
}

const invalidKey = (why: string): GatewayError => new GatewayError('idempotency-key-invalid', { cause: why })

type KeyOwner = RequestOwner | { readonly credentials: readonly string[] }

/** `credentialFields`: in lower case; they tell clients apart without `auth`. */
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

/** Differs by owner, operation and key. */
export const toKeyDigest = (owner: KeyOwner, operation: OperationId, key: string): KeyDigest => {
  const client = 'credentials' in owner ? digest(owner) : digestNamedOwner(owner)
  return { client, name: digest([client, operation, key]) }
}

export const toShareDigest = (exchange: Pick<Exchange, 'identity' | 'client'>): string =>
  digestNamedOwner(findRequestOwner(exchange))

// Almost all requests have one of these. Credentials are secrets, so not cached.
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
