import { randomBytes } from 'node:crypto'
import { dropConnectionNominated, fieldNameEquals, foldUnderscores, isHopByHop } from '../../header-fields.ts'

/** What a trusted proxy says of its client. */
export interface ForwardedFields {
  /** The values of X-Forwarded-For, joined with a comma. */
  readonly for: string | null
  readonly proto: string | null
  readonly host: string | null
}

const emptyForwarded: ForwardedFields = { for: null, proto: null, host: null }

/** A request's header section, read in one pass. Strings are latin1. */
export class RequestHead {
  /**
   * End-to-end fields as the client sent them, without Host, Content-Length, Expect and untrusted forwarding fields.
   */
  fields: string[] = []
  bytes = 0
  /** Every Host line. */
  readonly hosts: string[] = []
  contentLength: string | null = null
  /** Several lines are joined with a comma. */
  transferEncoding: string | null = null
  via: string | null = null
  expect: string | null = null
  /** The client's own request id, if it is valid and the only one. */
  requestId: string | null = null
  interactionId: string | null = null
  forwarded = emptyForwarded
}

/**
 * Parses the raw header list. `requestIdField` is the lower-case name of the field that carries the request id, or
 * null. `trusted` says that the peer is a proxy whose forwarding fields are believed; those of any other peer are
 * dropped.
 */
export const parseRequestHead = (
  raw: readonly string[],
  requestIdField: string | null,
  trusted: boolean,
): RequestHead => {
  const head = new RequestHead()
  const { fields } = head
  let bytes = 0
  let connection: string | null = null
  let requestIdCount = 0
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    bytes += name.length + value.length + 4
    // By length first: most fields are none of these, and lengths cost nothing to compare.
    switch (name.length) {
      case 3:
        if (fieldNameEquals(name, 'via')) head.via = joinValues(head.via, value)
        break
      case 4:
        if (fieldNameEquals(name, 'host')) {
          head.hosts.push(value)
          continue
        }
        break
      case 6:
        if (fieldNameEquals(name, 'expect')) {
          head.expect = joinValues(head.expect, value)
          continue
        }
        break
      case 10:
        if (fieldNameEquals(name, 'connection')) connection = joinValues(connection, value)
        break
      case 11:
        if (!isAcceptedFromPeer(name, 'client-cert', trusted)) continue
        break
      case 14:
        if (fieldNameEquals(name, 'content-length')) {
          head.contentLength = value
          continue
        }
        break
      case 17:
        if (fieldNameEquals(name, 'transfer-encoding')) head.transferEncoding = joinValues(head.transferEncoding, value)
        else if (!isAcceptedFromPeer(name, 'client-cert-chain', trusted)) continue
        break
      case 21:
        if (fieldNameEquals(name, 'x-fapi-interaction-id')) head.interactionId = value
        break
    }
    if (isHopByHop(name)) continue
    if (requestIdField !== null && fieldNameEquals(name, requestIdField)) {
      requestIdCount++
      head.requestId = value
      continue
    }
    if (isForwardedName(name)) {
      if (trusted && !name.includes('_')) head.forwarded = applyForwarded(head.forwarded, name, value, fields)
      continue
    }
    fields.push(name, value)
  }
  head.bytes = bytes
  if (connection !== null) head.fields = dropConnectionNominated(fields, connection)
  if (requestIdCount > 1 || (head.requestId !== null && !isValidRequestId(head.requestId))) head.requestId = null
  if (head.interactionId !== null && !isValidRequestId(head.interactionId)) head.interactionId = null
  return head
}

/** What a client waits for before it sends a body: for 100 Continue, for nothing, or for something unknown. */
export type Expectation = 'none' | 'continue' | 'unknown'

/**
 * Parses the field `Expect` (RFC 9110 §10.1.1), its lines joined with a comma; null: there is none. HTTP/1.0 has no
 * expectations.
 */
export const parseExpectation = (field: string | null, httpVersion: string): Expectation => {
  if (field === null || httpVersion === '1.0') return 'none'
  // RFC 9110 §5.6.1: empty elements of a list count for nothing.
  const expected = field.split(',').map((each) => each.trim().toLowerCase())
  if (expected.every((each) => each === '')) return 'none'
  return expected.every((each) => each === '' || each === '100-continue') ? 'continue' : 'unknown'
}

const joinValues = (earlier: string | null, value: string): string =>
  earlier === null ? value : `${earlier}, ${value}`

// Underscores too: a CGI-like back end reads X_Forwarded_For and X-Forwarded-For as one, so a client could add to the
// gateway's own.
const forwardedNamePattern = /^(?:forwarded|x[-_](?:forwarded(?:[-_].*)?|real[-_]ip))$/i

const isForwardedName = (name: string): boolean => {
  const first = name.charCodeAt(0) | 0x20
  return (first === 0x78 || first === 0x66) && forwardedNamePattern.test(name)
}

/**
 * Returns false for a field that only a trusted proxy may send and this peer may not; `lower` has the length of the
 * name.
 */
const isAcceptedFromPeer = (name: string, lower: string, trusted: boolean): boolean =>
  trusted && !name.includes('_') ? true : foldUnderscores(name) !== lower

/** Keeps a trusted proxy's field, except for the three from which the gateway builds its own. */
const applyForwarded = (forwarded: ForwardedFields, name: string, value: string, fields: string[]): ForwardedFields => {
  if (fieldNameEquals(name, 'x-forwarded-for')) return { ...forwarded, for: joinValues(forwarded.for, value) }
  if (fieldNameEquals(name, 'x-forwarded-proto')) return { ...forwarded, proto: value }
  if (fieldNameEquals(name, 'x-forwarded-host')) return { ...forwarded, host: value }
  fields.push(name, value)
  return forwarded
}

// The form of usual request ids: UUIDs, base64, `Root=1-…`. Nothing in it could end a field or a log line.
const requestIdPattern = /^[A-Za-z0-9._~+/=:@-]{1,128}$/

/** Returns whether a client's own id may be kept. */
export const isValidRequestId = (id: string): boolean => requestIdPattern.test(id)

const idBytes = 16
const idsPerBatch = 256
let randomPool = Buffer.alloc(0)
let randomOffset = 0

/** Creates an id: 128 random bits in hexadecimal. */
export const randomId = (): string => {
  if (randomOffset === randomPool.length) {
    randomPool = randomBytes(idBytes * idsPerBatch)
    randomOffset = 0
  }
  randomOffset += idBytes
  return randomPool.toString('hex', randomOffset - idBytes, randomOffset)
}
