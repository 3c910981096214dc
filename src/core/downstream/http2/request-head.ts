import { explainMalformed, fieldKinds, type HpackField } from './hpack/field.ts'

/** In the terms of HTTP/1 (decision 022): `:authority` becomes Host, the first of `rawFields`. */
export interface StreamHead {
  readonly method: string
  readonly scheme: string
  readonly path: string
  readonly rawFields: string[]
  readonly contentLength: number | null
  /** A field was left out for a control character, or a blank at an end (RFC 9113 §8.2.1). */
  readonly hasBadValue: boolean
}

/** RFC 9113 §8.2, §8.3. Returns text where the fields are malformed. */
export const readStreamHead = (fields: readonly HpackField[]): StreamHead | string => {
  const rawFields: string[] = []
  let [method, scheme, path] = ['', '', '']
  let authority: string | null = null
  let contentLength: number | null = null
  let cookieAt = -1
  let hasHost = false
  let hasBadValue = false
  let isBehindPseudoFields = false
  for (const field of fields) {
    const { name, value, kind } = field
    const isPseudoField = kind >= fieldKinds.method && kind <= fieldKinds.authority
    if (isPseudoField && isBehindPseudoFields) return 'a pseudo-field behind a regular field'
    isBehindPseudoFields ||= !isPseudoField
    switch (kind) {
      case fieldKinds.plain:
        rawFields.push(name, value)
        break
      case fieldKinds.method:
        if (method !== '' || value === '') return ':method twice, or empty'
        method = value
        break
      case fieldKinds.scheme:
        if (scheme !== '' || value === '') return ':scheme twice, or empty'
        scheme = value
        break
      case fieldKinds.path:
        if (path !== '' || value === '') return ':path twice, or empty'
        path = value
        break
      case fieldKinds.authority:
        if (authority !== null) return ':authority twice'
        authority = value
        rawFields.push('host', value)
        break
      case fieldKinds.host:
        // RFC 9113 §8.3.1. A Host other than :authority stays, and the request is rejected as on HTTP/1.
        if (hasHost) return 'host twice'
        hasHost = true
        if (value.toLowerCase() !== authority?.toLowerCase()) rawFields.push(name, value)
        authority ??= value
        break
      case fieldKinds.cookie:
        // RFC 9113 §8.2.3.
        if (cookieAt === -1) cookieAt = rawFields.push(name, value) - 1
        else rawFields[cookieAt] += `; ${value}`
        break
      case fieldKinds.contentLength:
        if (contentLength !== null) return 'content-length twice'
        contentLength = Number(value)
        rawFields.push(name, value)
        break
      case fieldKinds.badValue:
        hasBadValue = true
        break
      default:
        return explainMalformed(field)
    }
  }
  const isWhole = isTunnel(method, scheme, path, authority) || isRequest(method, scheme, path, authority)
  return isWhole
    ? { method, scheme, path, rawFields, contentLength, hasBadValue }
    : 'pseudo-fields that make no request'
}

/** RFC 9113 §8.5. The gateway never offers the extended form (RFC 8441). */
const isTunnel = (method: string, scheme: string, path: string, authority: string | null): boolean =>
  method === 'CONNECT' && scheme === '' && path === '' && isAuthority(authority)

const isRequest = (method: string, scheme: string, path: string, authority: string | null): boolean =>
  method !== '' &&
  method !== 'CONNECT' &&
  scheme !== '' &&
  isAuthority(authority) &&
  (path.startsWith('/') || (path === '*' && method === 'OPTIONS'))

/** RFC 9113 §8.3.1: not empty, and without userinfo. */
const isAuthority = (authority: string | null): boolean =>
  authority !== null && authority !== '' && !authority.includes('@')

/** RFC 9113 §8.1: no pseudo-field, and nothing malformed. */
export const areTrailers = (fields: readonly HpackField[]): boolean =>
  fields.every(({ kind }) => kind === fieldKinds.plain || kind === fieldKinds.cookie)
