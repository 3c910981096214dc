/**
 * RFC 9111 once more, written from its text alone and apart from the gateway: simple and slow. It keeps every response
 * that ever came, and decides for each whether a request may be served with it. Nothing here is shared with the code
 * under test. Times are seconds.
 */

/** A request as a client sent it. Names in lower case. */
export interface Request {
  readonly id: number
  /** The client; null: an anonymous one. */
  readonly client: string | null
  readonly uri: string
  readonly fields: Readonly<Record<string, string>>
}

/** A response of the upstream, whole. */
export interface Response {
  /** The number in its body. */
  readonly id: number
  readonly status: number
  readonly fields: Readonly<Record<string, string>>
  readonly requestedAt: number
  readonly receivedAt: number
}

/** A past response, and what has become of it since. */
export interface Past {
  readonly original: Request
  readonly body: number
  readonly status: number
  readonly first: Readonly<Record<string, string>>
  /** The fields and times as 304s have updated them. */
  current: Omit<Response, 'id' | 'status'>
  /** The request that it is kept for: the one that it came for, or one that a 304 has confirmed it for. */
  selectedBy: Request
  /** Whether its body ended in the middle. */
  readonly isCut: boolean
  /** Whether it was invalidated. */
  isInvalid: boolean
}

/** The part of the configuration that the model needs. */
export interface Rules {
  readonly shared: boolean
  readonly disconnected: number
}

type Directives = ReadonlyMap<string, string>

// The generator writes no quoted strings, so a comma is a comma.
const directives = (fields: Readonly<Record<string, string>>): Directives => {
  const found = new Map<string, string>()
  for (const member of (fields['cache-control'] ?? '').split(',')) {
    const [name = '', value = ''] = member.trim().toLowerCase().split('=')
    if (name !== '' && !found.has(name)) found.set(name, value)
  }
  return found
}

const understood = [200, 301, 404, 500, 503]

const credentials = ['authorization', 'cookie', 'x-api-key']

/** §3: whether a shared cache may store it at all. Null: it may; otherwise why not. */
const unstorable = (
  request: Request,
  status: number,
  fields: Past['current']['fields'],
  rules: Rules,
): string | null => {
  const said = directives(fields)
  const asked = directives(request.fields)
  const has = (name: string): boolean => request.fields[name] !== undefined
  if (status === 206 || status === 304) return 'a part'
  if (said.has('must-understand') && !understood.includes(status)) return 'not understood'
  if (asked.has('no-store')) return 'no-store was asked for'
  if (said.has('no-store') && !said.has('must-understand')) return 'no-store'
  if (said.has('private')) return 'private'
  if (!rules.shared && credentials.some(has)) return 'credentials'
  if (has('authorization') && !['public', 's-maxage', 'must-revalidate'].some((name) => said.has(name)))
    return 'Authorization'
  const explicit = said.has('s-maxage') || said.has('max-age') || fields.expires !== undefined
  if (credentials.some(has) && !explicit) return 'credentials without explicit freshness'
  if (fields['set-cookie'] !== undefined && !said.has('public')) return 'Set-Cookie'
  return explicit || said.has('public') || said.has('no-cache') || [200, 301, 404].includes(status)
    ? null
    : 'nothing allows it'
}

/**
 * §3.5: whether the credentials of its request alone keep a response from being stored. A 304 of that kind updates
 * nothing that is stored, since its fields would be stored with it; the stored response keeps its own fields and age.
 */
export const isOnlyForItsCredentials = (
  request: Request,
  status: number,
  fields: Past['current']['fields'],
  rules: Rules,
): boolean => {
  if (unstorable(request, status, fields, rules) === null) return false
  const others = Object.entries(request.fields).filter(([name]) => !credentials.includes(name))
  return unstorable({ ...request, fields: Object.fromEntries(others) }, status, fields, rules) === null
}

/** §4.2.1; heuristics are off. */
const lifetime = (fields: Past['current']['fields'], receivedAt: number): number => {
  const said = directives(fields)
  const given = said.get('s-maxage') ?? said.get('max-age')
  if (given !== undefined) return Number(given)
  if (fields.expires === undefined) return 0
  const date = fields.date === undefined ? receivedAt : Date.parse(fields.date) / 1000
  return Date.parse(fields.expires) / 1000 - date
}

/** §4.2.3, to the letter. */
export const ageOf = ({ fields, requestedAt, receivedAt }: Past['current'], now: number): number => {
  const dateValue = fields.date === undefined ? receivedAt : Date.parse(fields.date) / 1000
  const apparentAge = Math.max(0, receivedAt - dateValue)
  const responseDelay = receivedAt - requestedAt
  const correctedAgeValue = Number(fields.age ?? 0) + responseDelay
  const correctedInitialAge = Math.max(apparentAge, correctedAgeValue)
  const residentTime = now - receivedAt
  return correctedInitialAge + residentTime
}

/** §4.1: whether it belongs to this request, by the fields that it names. */
export const belongsTo = ({ selectedBy, current }: Past, request: Request): boolean => {
  const names = (current.fields.vary ?? '').split(',').map((name) => name.trim().toLowerCase())
  if (names.includes('*')) return false
  return names.every((name) => name === '' || selectedBy.fields[name] === request.fields[name])
}

/**
 * The same once 304s have updated it: a response that the upstream has confirmed for a request is also a response to
 * that one.
 */
const sinceUnstorable = (past: Past, fields: Past['current']['fields'], rules: Rules): string | null => {
  const whys = [past.original, past.selectedBy].map((each) => unstorable(each, past.status, fields, rules))
  return whys.includes(null) ? null : (whys[0] ?? null)
}

/** What went wrong between the gateway and the upstream during a request. */
export interface Circumstances {
  readonly now: number
  /** The request that a 304 for this very response was for. */
  readonly validated: 'none' | 'another' | 'this'
  readonly trouble: 'none' | 'error' | 'disconnected'
}

/** §4: whether this request may be served with that past response. Null: it may; otherwise why not. */
export const unusable = (
  past: Past,
  request: Request,
  { now, validated, trouble }: Circumstances,
  rules: Rules,
): string | null => {
  const { original, current, status } = past
  if (original.client !== request.client) return `it is of client ${original.client}`
  if (original.uri !== request.uri) return `it is of ${original.uri}`
  if (past.isInvalid) return 'it was made invalid'
  // The fields of a 304 for one request are for that one, even such that no other may have it.
  const fields = validated === 'this' ? past.first : current.fields
  const why = unstorable(original, status, past.first, rules) ?? sinceUnstorable(past, fields, rules)
  if (why !== null) return `it may not be stored: ${why}`
  if (!rules.shared && credentials.some((name) => request.fields[name] !== undefined))
    return 'this request has credentials'
  // The upstream itself says that it belongs to this request: a cache may validate any response that it has (§4.3.1).
  if (validated === 'this') return null
  if (!belongsTo(past, request)) return 'it varies'
  if (validated === 'another') return null
  const said = directives(current.fields)
  if (said.has('no-cache')) return 'no-cache'
  const age = ageOf(current, now)
  const fresh = lifetime(current.fields, current.receivedAt)
  return unfresh(said, directives(request.fields), age, fresh, trouble, rules)
}

const unfresh = (
  said: Directives,
  asked: Directives,
  age: number,
  fresh: number,
  trouble: Circumstances['trouble'],
  rules: Rules,
): string | null => {
  const isFresh = fresh > age
  const staleness = age - fresh
  const within = (value: string | undefined): boolean => value !== undefined && staleness <= Number(value)
  // In place of a failure, the client's preferences do not count (RFC 5861 §4).
  const mayStandIn =
    within(said.get('stale-if-error')) || (trouble === 'disconnected' && staleness <= rules.disconnected)
  const mustNot = ['must-revalidate', 'proxy-revalidate', 's-maxage'].some((name) => said.has(name))
  if (trouble !== 'none' && (isFresh || (mayStandIn && !mustNot))) return null
  if (asked.has('no-cache')) return 'the client said no-cache'
  if (asked.has('max-age') && age > Number(asked.get('max-age'))) return `age ${age}: the client said max-age`
  if (asked.has('min-fresh') && fresh - age < Number(asked.get('min-fresh'))) return 'the client said min-fresh'
  if (isFresh) return null
  if (mustNot) return 'stale, and must be revalidated'
  if (asked.has('max-stale') && (asked.get('max-stale') === '' || within(asked.get('max-stale')))) return null
  if (within(said.get('stale-while-revalidate')) && !asked.has('min-fresh')) return null
  return `stale by ${staleness}`
}

/**
 * §4.3.4: whether a 304 that came for a request is about a past response. One for a request that bypasses the cache is
 * about none.
 */
export const confirms = (past: Past, request: Request, fields: Past['current']['fields'], rules: Rules): boolean => {
  if (past.original.client !== request.client || past.original.uri !== request.uri) return false
  if (directives(request.fields).has('no-store')) return false
  if (!rules.shared && credentials.some((name) => request.fields[name] !== undefined)) return false
  const known = past.current.fields
  return fields.etag === undefined ? fields['last-modified'] === known['last-modified'] : fields.etag === known.etag
}
