/**
 * The header fields that end at the gateway. A list of fields is flat everywhere: name, value, name, value, … with
 * casing, order and repetitions as received, each string latin1 (a byte a character).
 */

/** A flat list of header fields. */
export type HeaderFields = readonly string[]

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** A token, as a regular expression (RFC 9110 §5.6.2). */
export const httpTokenPattern = token.source

/** Tells whether `text` can be a field name, a method or a pseudonym. */
export const isHttpToken = (text: string): boolean => token.test(text)

/** Tells whether `text` can be a field value (RFC 9110 §5.5): one line of Latin-1, no control character but tab. */
export const isFieldValue = (text: string): boolean => fieldValue.test(text)

// RFC 9110 §7.6.1 and the framing of RFC 9112, which the gateway sets itself on each side; Proxy-* are for the next hop
// alone (§11.7). Trailers are dropped, so the field that announces them is too.
const hopByHop = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'http2-settings',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** The field by which clients and banks name an interaction (Open Banking, FAPI). */
export const interactionIdField = 'x-fapi-interaction-id'

/**
 * The fields, in lower case, in which an upstream repeats what one request said. Kept for another request, they would
 * tell it of the first.
 */
export const perExchangeFields: ReadonlySet<string> = new Set([interactionIdField])

// Most names have a length that no dropped field has: they pass without being folded to lower case.
const hopByHopByLength: (readonly string[] | undefined)[] = []
for (const name of hopByHop) hopByHopByLength[name.length] = [...(hopByHopByLength[name.length] ?? []), name]

/** Tells whether a field ends at this hop. */
export const isHopByHop = (name: string): boolean => {
  const candidates = hopByHopByLength[name.length]
  if (candidates === undefined) return false
  for (const candidate of candidates) if (fieldNameEquals(name, candidate)) return true
  return false
}

/**
 * The fields of requests, in lower case, that back ends are known to take for the URI, the method, the host or the
 * scheme, instead of the request's own: a client that may write one chooses what the back end does. Few back ends say
 * so in Vary. Programs behind CGI read `Proxy` as the proxy of their own requests (https://httpoxy.org).
 */
export const targetOverrides: readonly string[] = [
  'front-end-https',
  'proxy',
  'x-envoy-original-dst-host',
  'x-envoy-original-host',
  'x-envoy-original-path',
  'x-host',
  'x-http-host-override',
  'x-http-method',
  'x-http-method-override',
  'x-http-path-override',
  'x-method-override',
  'x-original-host',
  'x-original-method',
  'x-original-path',
  'x-original-proto',
  'x-original-scheme',
  'x-original-uri',
  'x-original-url',
  'x-replaced-path',
  'x-rewrite-path',
  'x-rewrite-uri',
  'x-rewrite-url',
  'x-scheme',
  'x-url-scheme',
]

/** Compares two field names; `lower` is in lower case already. */
export const fieldNameEquals = (name: string, lower: string): boolean =>
  // Nearly all names of one length differ in the first letter: no copy in lower case is made of them.
  name.length === lower.length && startWithSameLetter(name, lower) && (name === lower || name.toLowerCase() === lower)

/** Compares the first letters without case. Some pairs of other characters compare as equal too. */
const startWithSameLetter = (one: string, other: string): boolean =>
  (one.charCodeAt(0) | 0x20) === (other.charCodeAt(0) | 0x20)

/**
 * Fields, in lower case, that are lists by their definitions: several lines say what one line says that has a comma
 * between them (RFC 9110 §5.3). A proxy may add a line, as the gateway does.
 */
export const listFields: ReadonlySet<string> = new Set([
  ...['accept', 'accept-charset', 'accept-encoding', 'accept-language', 'accept-ranges', 'allow', 'cache-control'],
  ...['cache-status', 'content-encoding', 'content-language', 'forwarded', 'if-match', 'if-none-match', 'link'],
  ...['pragma', 'prefer', 'preference-applied', 'proxy-status', 'ratelimit', 'ratelimit-policy', 'server-timing'],
  ...['tracestate', 'vary', 'via', 'warning', 'www-authenticate', 'x-forwarded-for'],
])

/** Finds the first value of a field, or undefined; `lower` is the name in lower case. */
export const getFirstFieldValue = (fields: HeaderFields, lower: string): string | undefined => {
  for (let i = 0; i < fields.length; i += 2) if (fieldNameEquals(fields[i] as string, lower)) return fields[i + 1]
  return undefined
}

/** Lists the values of a field, one a line; `lower` is the name in lower case. */
export const getFieldValues = (fields: HeaderFields, lower: string): string[] => {
  const values: string[] = []
  for (let i = 0; i < fields.length; i += 2) {
    if (fieldNameEquals(fields[i] as string, lower)) values.push(fields[i + 1] as string)
  }
  return values
}

/** Joins the lines of a field with a comma (RFC 9110 §5.3). */
export const joinValues = (earlier: string | null, value: string): string =>
  earlier === null ? value : `${earlier}, ${value}`

/**
 * Removes the fields that `Connection` names (RFC 9110 §7.6.1); `connection` is its value, several lines joined with a
 * comma. The usual `close` and `keep-alive` name no field, so the list is returned as it is.
 */
export const dropConnectionNominated = (fields: string[], connection: string): string[] => {
  if (closeOrKeepAlive.test(connection)) return fields
  const named = new Set(connection.toLowerCase().split(',').map(trim))
  named.delete('close')
  named.delete('keep-alive')
  named.delete('')
  return named.size === 0 ? fields : omitFields(fields, named)
}

const closeOrKeepAlive = /^[\t ]*(?:close|keep-alive)[\t ]*$/i

/** `names` are in lower case. */
export const omitFields = (fields: HeaderFields, names: ReadonlySet<string>): string[] => {
  const kept: string[] = []
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (!names.has(name.toLowerCase())) kept.push(name, fields[i + 1] as string)
  }
  return kept
}

const trim = (token: string): string => token.trim()

/** Removes HTAB and SP from both ends (OWS, RFC 9110 §5.6.3), in time that grows with the text and no faster. */
export const trimBlanks = (text: string): string => {
  let [from, to] = [0, text.length]
  while (from < to && isBlank(text.charCodeAt(from))) from++
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09

/**
 * Folds the name of a request's field. A CGI-like back end reads X_Api_Key and X-Api-Key as one: a client could add to
 * a field that is set, or send one that is removed.
 */
export const foldUnderscores = (name: string): string => name.toLowerCase().replaceAll('_', '-')

/** Tells whether a back end may read a name as `lower`, a name in lower case, though it is another one. */
export const isTwin = (name: string, lower: string): boolean =>
  name.length === lower.length &&
  (name.includes('_') || lower.includes('_')) &&
  foldUnderscores(name) === foldUnderscores(lower)

// Assertion, JWT, OIDC and principal: how proxies that sign users in hand on who it is (Amazon ALB, Google IAP,
// Cloudflare Access, Azure). Cert: RFC 9440, and what proxies called it before.
const credentialWords =
  /assertion|auth|cert|cookie|credential|dpop|jwt|key|oidc|pass|principal|saml|secret|session|signature|token|userinfo/i

// A key that is no credential: it names a request, and says nothing of who sends it.
const idempotencyKey = /(?:^|[-_])idempotency[-_]key$/i

/** Tells by its name whether a header field holds a credential: wherever a client, or a proxy, may have put one. */
export const namesCredential = (name: string): boolean => credentialWords.test(name) && !idempotencyKey.test(name)

/** Tells whether a text has the form of a bearer token (RFC 6750 §2.1). The empty text has not. */
export const isBearerToken = (text: string): boolean => /^[A-Za-z0-9._~+/-]+=*$/.test(text)

export interface AddedResponseFields {
  readonly requestId: string
  readonly interactionId: string | null
  readonly addedResponseFields: HeaderFields | null
}

/**
 * Lists the fields of a response as the client gets them: the end-to-end ones of the upstream, and the few that
 * docs/operations.md says the gateway adds. `requestIdField` and `via` null: there is none.
 */
export const toClientFields = (
  { requestId, interactionId, addedResponseFields }: AddedResponseFields,
  status: number,
  upstreamFields: HeaderFields,
  requestIdField: string | null,
  via: string | null,
): string[] => {
  const lowerRequestIdField = requestIdField?.toLowerCase()
  const fields: string[] = []
  for (let i = 0; i < upstreamFields.length; i += 2) {
    const name = upstreamFields[i] as string
    if (lowerRequestIdField !== undefined && fieldNameEquals(name, lowerRequestIdField)) continue
    // RFC 9110 §8.6: never on a 204.
    if (status === 204 && fieldNameEquals(name, 'content-length')) continue
    fields.push(name, upstreamFields[i + 1] as string)
  }
  if (via !== null) fields.push('Via', via)
  if (requestIdField !== null) fields.push(requestIdField, requestId)
  if (addedResponseFields !== null) fields.push(...addedResponseFields)
  if (interactionId !== null && getFirstFieldValue(upstreamFields, interactionIdField) === undefined)
    fields.push(interactionIdField, interactionId)
  return fields
}

/**
 * Tells whether a connection persists after a message (RFC 9112 §9.3). `connection` holds the values of its Connection
 * fields, joined with commas; where it says nothing, HTTP/1.1 persists (`byDefault`) and HTTP/1.0 does not.
 */
export const isPersistent = (byDefault: boolean, connection: string): boolean =>
  !closeOption.test(connection) && (byDefault || keepAliveOption.test(connection))

const closeOption = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i
const keepAliveOption = /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/i
