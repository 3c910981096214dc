import { isHost } from './hosts.ts'

/** Is a request-target taken apart, byte for byte as the client spelled it. */
export interface Target {
  readonly path: string
  /** The raw query with its `?`, or empty. */
  readonly query: string
  /** The host of an absolute-form, which overrides Host (RFC 9112 §3.2.2); null in the origin-form. */
  readonly authority: string | null
}

const absolute = /^https?:\/\/([^/?#]*)([^#]*)$/i

/** Parses a request-target once; null when no resource of http can be meant by it. */
export const parseTarget = (raw: string): Target | null => {
  // A fragment is never sent (RFC 9112 §3.2.1), but Node hands one on and some servers cut it off.
  if (raw.includes('#')) return null
  if (raw.charCodeAt(0) === slash) return split(raw, null)
  const match = absolute.exec(raw) // else the asterisk-form, the authority-form, or another scheme
  if (match === null) return null
  const [, authority = '', rest = ''] = match
  return isHost(authority) ? split(rest, authority) : null
}

const slash = 0x2f

const split = (raw: string, authority: string | null): Target => {
  const at = raw.indexOf('?')
  return at === -1 ? { path: raw, query: '', authority } : { path: raw.slice(0, at), query: raw.slice(at), authority }
}
