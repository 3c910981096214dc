import { tryOrNull } from '../lib/try.ts'

/** Name, value, name, value, … with case, order and repetitions as received; latin1. */
export type HeaderFields = readonly string[]

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** RFC 9110 §5.6.2. */
export const httpTokenPattern = token.source

export const isHttpToken = (text: string): boolean => token.test(text)

/** RFC 9110 §5.5: one line of Latin-1, no control character but tab. */
export const isFieldValue = (text: string): boolean => fieldValue.test(text)

/** Returns the name of a field that could change the framing of a head (RFC 9110 §5.1, §5.5); null: none. */
export const findUnsendable = (fields: HeaderFields): string | null => {
  // Two tests in all: two for each field take a microsecond a request.
  let names = ''
  let values = ''
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i] === '') return ''
    names += fields[i]
    values += fields[i + 1]
  }
  if (names === '' || (token.test(names) && fieldValue.test(values))) return null
  const at = fields.findIndex((text, i) => !(i % 2 === 0 ? token : fieldValue).test(text))
  return fields[at - (at % 2)] as string
}

export const checkFields = (fields: HeaderFields): void => {
  const unsendable = findUnsendable(fields)
  if (unsendable !== null) throw new TypeError(`the field ${JSON.stringify(unsendable)} cannot be sent`)
}

// RFC 9110 §7.6.1; Proxy-* is for the next hop alone (§11.7); the gateway sets the framing of RFC 9112. Trailers are
// dropped, and so is the field that announces them.
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

/** Names an interaction of clients and banks (Open Banking, FAPI). */
export const interactionIdField = 'x-fapi-interaction-id'

/** Upstreams repeat them from the request: a stored response would reveal the first request's to later clients. */
export const perExchangeFields: ReadonlySet<string> = new Set([interactionIdField])

// Most names match no length, and pass without a lower-case copy.
const hopByHopByLength: (readonly string[] | undefined)[] = []
for (const name of hopByHop) hopByHopByLength[name.length] = [...(hopByHopByLength[name.length] ?? []), name]

export const isHopByHop = (name: string): boolean => {
  const candidates = hopByHopByLength[name.length]
  if (candidates === undefined) return false
  for (const candidate of candidates) if (fieldNameEquals(name, candidate)) return true
  return false
}

/**
 * Known back ends take them for the URI, method, host or scheme: a client that can write one controls the back end. Few
 * back ends name them in Vary. CGI programs read `Proxy` as their proxy (https://httpoxy.org).
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

/** `lower`, here and below, is in lower case. */
export const fieldNameEquals = (name: string, lower: string): boolean =>
  // Nearly all names of one length differ in the first letter, so few get a lower-case copy.
  name.length === lower.length && startWithSameLetter(name, lower) && (name === lower || name.toLowerCase() === lower)

/** Some pairs of other characters are equal too. */
const startWithSameLetter = (one: string, other: string): boolean =>
  (one.charCodeAt(0) | 0x20) === (other.charCodeAt(0) | 0x20)

/** Several lines equal one line with commas (RFC 9110 §5.3), and proxies add lines. */
export const listFields: ReadonlySet<string> = new Set([
  ...['accept', 'accept-charset', 'accept-encoding', 'accept-language', 'accept-ranges', 'allow', 'cache-control'],
  ...['cache-status', 'content-encoding', 'content-language', 'forwarded', 'if-match', 'if-none-match', 'link'],
  ...['pragma', 'prefer', 'preference-applied', 'proxy-status', 'ratelimit', 'ratelimit-policy', 'server-timing'],
  ...['tracestate', 'vary', 'via', 'warning', 'www-authenticate', 'x-forwarded-for'],
])

export const getFirstFieldValue = (fields: HeaderFields, lower: string): string | undefined => {
  for (let i = 0; i < fields.length; i += 2) if (fieldNameEquals(fields[i] as string, lower)) return fields[i + 1]
  return undefined
}

export const getFieldValues = (fields: HeaderFields, lower: string): string[] => {
  const values: string[] = []
  for (let i = 0; i < fields.length; i += 2) {
    if (fieldNameEquals(fields[i] as string, lower)) values.push(fields[i + 1] as string)
  }
  return values
}

/** RFC 9110 §5.3. */
export const joinValues = (earlier: string | null, value: string): string =>
  earlier === null ? value : `${earlier}, ${value}`

/** RFC 9110 §7.6.1. `connection`: its lines joined with a comma. */
export const dropConnectionNominated = (fields: string[], connection: string): string[] => {
  if (closeOrKeepAlive.test(connection)) return fields
  const named = new Set(connection.toLowerCase().split(',').map(trim))
  named.delete('close')
  named.delete('keep-alive')
  named.delete('')
  return named.size === 0 ? fields : omitFields(fields, named)
}

const closeOrKeepAlive = /^[\t ]*(?:close|keep-alive)[\t ]*$/i

export const omitFields = (fields: HeaderFields, names: ReadonlySet<string>): string[] => {
  const kept: string[] = []
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i] as string
    if (!names.has(name.toLowerCase())) kept.push(name, fields[i + 1] as string)
  }
  return kept
}

const trim = (token: string): string => token.trim()

/** OWS, RFC 9110 §5.6.3. In linear time. */
export const trimBlanks = (text: string): string => {
  let [from, to] = [0, text.length]
  while (from < to && isBlank(text.charCodeAt(from))) from++
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09

/** A CGI-like back end reads X_Api_Key as X-Api-Key: a client could add to a set field, or send a removed one. */
export const foldUnderscores = (name: string): string => name.toLowerCase().replaceAll('_', '-')

export const isTwin = (name: string, lower: string): boolean =>
  name.length === lower.length &&
  (name.includes('_') || lower.includes('_')) &&
  foldUnderscores(name) === foldUnderscores(lower)

// Assertion, JWT, OIDC and principal: of proxies that sign users in (Amazon ALB, Google IAP, Cloudflare Access, Azure).
// Cert: RFC 9440 and its predecessors.
const credentialWords =
  /assertion|auth|cert|cookie|credential|dpop|jwt|key|oidc|pass|principal|saml|secret|session|signature|token|userinfo/i

const idempotencyKey = /(?:^|[-_])idempotency[-_]key$/i // names a request, not its sender

export const namesCredential = (name: string): boolean => credentialWords.test(name) && !idempotencyKey.test(name)

/** RFC 6750 §2.1; false for the empty text. */
export const isBearerToken = (text: string): boolean => /^[A-Za-z0-9._~+/-]+=*$/.test(text)

export interface AddedResponseFields {
  readonly requestId: string
  readonly interactionId: string | null
  readonly addedResponseFields: HeaderFields | null
}

/** The upstream's end-to-end fields, and the gateway's (docs/operations.md). Null: off. */
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

/** RFC 9112 §9.3. `connection`: the Connection fields joined with commas; `byDefault`: HTTP/1.1. */
export const isPersistent = (byDefault: boolean, connection: string): boolean =>
  !closeOption.test(connection) && (byDefault || keepAliveOption.test(connection))

const closeOption = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i
const keepAliveOption = /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/i

/** RFC 6750 §2.3: `access_token`, however encoded, has one meaning in any query. */
export const hasTokenInQuery = (query: string): boolean =>
  query !== '' &&
  (query.includes('access_token') || query.includes('%')) &&
  query.slice(1).split(/[&;]/).some(isAccessTokenParam)

const isAccessTokenParam = (pair: string): boolean => {
  const name = pair.split('=', 1)[0] as string
  return tryOrNull(() => decodeURIComponent(name.replaceAll('+', ' ')))?.trim() === 'access_token'
}
