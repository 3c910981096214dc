import { randomBytes } from 'node:crypto'
import { isHopByHop, isNamed, withoutNominated, withTwins } from '../fields.ts'

/** Is what a trusted proxy said of its client. */
export interface Forwarded {
  /** The values of X-Forwarded-For, joined with a comma. */
  readonly for: string | null
  readonly proto: string | null
  readonly host: string | null
}

const nobody: Forwarded = { for: null, proto: null, host: null }

/** A request's header section, read in one pass. Strings are latin1. */
export class Head {
  /** End-to-end fields as the client sent them; Host, Content-Length, Expect and untrusted forwarded fields are not among them. */
  fields: string[] = []
  bytes = 0
  /** Every Host line. */
  readonly hosts: string[] = []
  contentLength: string | null = null
  /** Several lines are joined with a comma. */
  transferEncoding: string | null = null
  via: string | null = null
  expect: string | null = null
  /** The client's own request id, when it is sane and the only one. */
  requestId: string | null = null
  interactionId: string | null = null
  forwarded = nobody
}

/**
 * Reads the raw header list. `requestIdField` is the lower-case name of the field that carries the request id, or null. `trusted` says
 * that the peer is a proxy whose forwarded fields are believed; anybody else's are dropped.
 */
export const readHead = (raw: readonly string[], requestIdField: string | null, trusted: boolean): Head => {
  const head = new Head()
  const { fields } = head
  let bytes = 0
  let connection: string | null = null
  let ids = 0
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    bytes += name.length + value.length + 4
    // By length first: most fields are none of these, and lengths cost nothing to compare.
    switch (name.length) {
      case 3:
        if (isNamed(name, 'via')) head.via = join(head.via, value)
        break
      case 4:
        if (isNamed(name, 'host')) {
          head.hosts.push(value)
          continue
        }
        break
      case 6:
        if (isNamed(name, 'expect')) {
          head.expect = join(head.expect, value)
          continue
        }
        break
      case 10:
        if (isNamed(name, 'connection')) connection = join(connection, value)
        break
      case 11:
        if (!isBelieved(name, 'client-cert', trusted)) continue
        break
      case 14:
        if (isNamed(name, 'content-length')) {
          head.contentLength = value
          continue
        }
        break
      case 17:
        if (isNamed(name, 'transfer-encoding')) head.transferEncoding = join(head.transferEncoding, value)
        else if (!isBelieved(name, 'client-cert-chain', trusted)) continue
        break
      case 21:
        if (isNamed(name, 'x-fapi-interaction-id')) head.interactionId = value
        break
    }
    if (isHopByHop(name)) continue
    if (requestIdField !== null && isNamed(name, requestIdField)) {
      ids++
      head.requestId = value
      continue
    }
    if (isForwarded(name)) {
      if (trusted && !name.includes('_')) head.forwarded = believe(head.forwarded, name, value, fields)
      continue
    }
    fields.push(name, value)
  }
  head.bytes = bytes
  if (connection !== null) head.fields = withoutNominated(fields, connection)
  if (ids > 1 || (head.requestId !== null && !isSaneId(head.requestId))) head.requestId = null
  if (head.interactionId !== null && !isSaneId(head.interactionId)) head.interactionId = null
  return head
}

/** Is what a client waits for before it sends a body: to be told to go on, nothing, or something that is not known. */
export type Expectation = 'none' | 'continue' | 'unknown'

/** Reads the field `Expect` (RFC 9110 §10.1.1), its lines joined with a comma; null: there is none. HTTP/1.0 has no expectations. */
export const expectation = (field: string | null, httpVersion: string): Expectation => {
  if (field === null || httpVersion === '1.0') return 'none'
  // RFC 9110 §5.6.1: empty elements of a list count for nothing.
  const expected = field.split(',').map((each) => each.trim().toLowerCase())
  if (expected.every((each) => each === '')) return 'none'
  return expected.every((each) => each === '' || each === '100-continue') ? 'continue' : 'unknown'
}

const join = (earlier: string | null, value: string): string => (earlier === null ? value : `${earlier}, ${value}`)

// The underscore twins: a CGI-like back end reads X_Forwarded_For and X-Forwarded-For as one, so a client could add to what we set.
const forwardedName = /^(?:forwarded|x[-_](?:forwarded(?:[-_].*)?|real[-_]ip))$/i

const isForwarded = (name: string): boolean => {
  const first = name.charCodeAt(0) | 0x20
  return (first === 0x78 || first === 0x66) && forwardedName.test(name)
}

/** Tells whether a field that only a trusted proxy may write is one of its own; any other field is. `lower` is of the same length as the name. */
const isBelieved = (name: string, lower: string, trusted: boolean): boolean =>
  trusted && !name.includes('_') ? true : withTwins(name) !== lower

/** Keeps a trusted proxy's field, but for the three that the gateway sets anew from it. */
const believe = (forwarded: Forwarded, name: string, value: string, fields: string[]): Forwarded => {
  if (isNamed(name, 'x-forwarded-for')) return { ...forwarded, for: join(forwarded.for, value) }
  if (isNamed(name, 'x-forwarded-proto')) return { ...forwarded, proto: value }
  if (isNamed(name, 'x-forwarded-host')) return { ...forwarded, host: value }
  fields.push(name, value)
  return forwarded
}

// What request ids of the field look like: UUIDs, base64, `Root=1-…`. Nothing that could end a field or a log line.
const sane = /^[A-Za-z0-9._~+/=:@-]{1,128}$/

/** Tells whether a client's own id may be kept. */
export const isSaneId = (id: string): boolean => sane.test(id)

const idBytes = 16
const batch = 256
let pool = Buffer.alloc(0)
let offset = 0

/** Makes an id: 128 random bits in hexadecimal. */
export const makeId = (): string => {
  if (offset === pool.length) {
    pool = randomBytes(idBytes * batch)
    offset = 0
  }
  offset += idBytes
  return pool.toString('hex', offset - idBytes, offset)
}
