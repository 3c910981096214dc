import { isValidHost } from './authority.ts'

/** A parsed request-target, byte for byte as the client spelled it. */
export interface RequestTarget {
  readonly path: string
  /** The raw query with its `?`, or empty. */
  readonly query: string
  /** The host of an absolute-form, which overrides Host (RFC 9112 §3.2.2); null in the origin-form. */
  readonly authority: string | null
}

const absoluteFormPattern = /^https?:\/\/([^/?#]*)([^#]*)$/i

/** Parses a request-target; null when it can name no resource of http. */
export const parseRequestTarget = (raw: string): RequestTarget | null => {
  // A fragment is never sent (RFC 9112 §3.2.1), but some clients send one, and some servers cut it off.
  if (raw.includes('#')) return null
  if (raw.charCodeAt(0) === slash) return splitTarget(raw, null)
  const match = absoluteFormPattern.exec(raw) // else the asterisk-form, the authority-form, or another scheme
  if (match === null) return null
  const [, authority = '', rest = ''] = match
  return isValidHost(authority) ? splitTarget(rest, authority) : null
}

const slash = 0x2f

const splitTarget = (raw: string, authority: string | null): RequestTarget => {
  const at = raw.indexOf('?')
  return at === -1 ? { path: raw, query: '', authority } : { path: raw.slice(0, at), query: raw.slice(at), authority }
}
