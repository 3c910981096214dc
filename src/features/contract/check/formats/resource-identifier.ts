import { isIpv6 } from './ip-address.ts'

/** The characters of an identifier, beside percent-encodings and `:/?#[]@`. */
interface Alphabet {
  readonly host: RegExp
  readonly userinfo: RegExp
  readonly path: RegExp
  readonly query: RegExp
  readonly fragment: RegExp
}

// RFC 3986 §2.2 and §2.3: sub-delims and unreserved. % is checked apart.
const ascii = String.raw`a-zA-Z\d\-._~!$&'()*+,;=%`
// RFC 3987 §2.2: ucschar and iprivate.
const planes = Array.from({ length: 13 }, (_, at) => (at + 1).toString(16))
const others = [
  ...planes.map((plane) => String.raw`\u{${plane}0000}-\u{${plane}fffd}`),
  String.raw`\u{e1000}-\u{efffd}`,
]
export const ucschar = String.raw`\u{a0}-\u{d7ff}\u{f900}-\u{fdcf}\u{fdf0}-\u{ffef}${others.join('')}`
export const iprivate = String.raw`\u{e000}-\u{f8ff}\u{f0000}-\u{ffffd}\u{100000}-\u{10fffd}`

/** Returns what finds a character that is none of these. One search is linear, and takes no stack. */
const noneOf = (characters: string): RegExp => new RegExp(`[^${characters}]`, 'u')

const alphabetOf = (characters: string, moreInQuery: string): Alphabet => ({
  host: noneOf(characters),
  userinfo: noneOf(`${characters}:`),
  path: noneOf(`${characters}:@/`),
  query: noneOf(`${characters}:@/?${moreInQuery}`),
  fragment: noneOf(`${characters}:@/?`),
})

const [uri, iri] = [alphabetOf(ascii, ''), alphabetOf(ascii + ucschar, iprivate)]

/** Tells whether a text is a URI (RFC 3986 §3). */
export const isUri = (text: string): boolean => hasScheme(text) && isReference(text, uri)

/** Tells whether a text is a URI reference (RFC 3986 §4.1). */
export const isUriReference = (text: string): boolean => isReference(text, uri)

/** Tells whether a text is an IRI (RFC 3987 §2.2). */
export const isIri = (text: string): boolean => hasScheme(text) && isReference(text, iri)

/** Tells whether a text is an IRI reference (RFC 3987 §2.2). */
export const isIriReference = (text: string): boolean => isReference(text, iri)

const hasScheme = (text: string): boolean => /^[a-z][a-z\d+.-]*:/i.test(text)

/** Tells whether each `%` begins a percent-encoding (RFC 3986 §2.1). */
export const isEncoded = (text: string): boolean => !/%(?![\da-f]{2})/i.test(text)

// RFC 3986 appendix B. A colon in the first segment ends a scheme (§4.2).
const parts = /^(?:([^:/?#]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s

const isReference = (text: string, alphabet: Alphabet): boolean => {
  if (!isEncoded(text)) return false
  const found = parts.exec(text)
  if (found === null) return false
  const [scheme, authority, path = '', query = '', fragment = ''] = found.slice(1)
  if (scheme !== undefined && !/^[a-z][a-z\d+.-]*$/i.test(scheme)) return false
  if (alphabet.path.test(path) || alphabet.query.test(query) || alphabet.fragment.test(fragment)) return false
  return authority === undefined || isAuthority(authority, alphabet)
}

const isAuthority = (text: string, { host, userinfo }: Alphabet): boolean => {
  const at = text.indexOf('@')
  if (at !== -1 && userinfo.test(text.slice(0, at))) return false
  const found = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::\d*)?$/.exec(text.slice(at + 1))
  if (found === null) return false
  const [, literal, name = ''] = found
  return literal === undefined ? !host.test(name) : isIpv6(literal) || isIpvFuture(literal)
}

const isIpvFuture = (text: string): boolean => /^v[\da-f]+\.[a-z\d\-._~!$&'()*+,;=:]+$/i.test(text)
