import { isHopByHop, isNamed, withoutNominated, withTwins } from '../fields.ts'
import { isSaneId } from './request-id.ts'

/** Is a request's header section, read in one pass. Strings are latin1. */
export interface Head {
  /** End-to-end fields as the client sent them; Host, Content-Length, Expect and untrusted forwarded fields are not among them. */
  readonly fields: string[]
  readonly bytes: number
  /** Every Host line. */
  readonly hosts: readonly string[]
  readonly contentLength: string | null
  /** Several lines are joined with a comma. */
  readonly transferEncoding: string | null
  readonly via: string | null
  readonly expect: string | null
  /** The client's own request id, when it is sane and the only one. */
  readonly requestId: string | null
  readonly interactionId: string | null
  readonly forwarded: Forwarded
}

/** Is what a trusted proxy said of its client. */
export interface Forwarded {
  /** The values of X-Forwarded-For, joined with a comma. */
  readonly for: string | null
  readonly proto: string | null
  readonly host: string | null
}

const nobody: Forwarded = { for: null, proto: null, host: null }

/**
 * Reads the raw header list. `requestIdField` is the lower-case name of the field that carries the request id, or null. `trusted` says
 * that the peer is a proxy whose forwarded fields are believed; anybody else's are dropped.
 */
export const readHead = (raw: readonly string[], requestIdField: string | null, trusted: boolean): Head => {
  const fields: string[] = []
  const hosts: string[] = []
  let bytes = 0
  let connection: string | null = null
  let contentLength: string | null = null
  let transferEncoding: string | null = null
  let via: string | null = null
  let expect: string | null = null
  let ids = 0
  let requestId: string | null = null
  let interactionId: string | null = null
  let forwarded = nobody

  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    bytes += name.length + value.length + 4
    // By length first: most fields are none of these, and lengths cost nothing to compare.
    switch (name.length) {
      case 3:
        if (isNamed(name, 'via')) via = join(via, value)
        break
      case 4:
        if (isNamed(name, 'host')) {
          hosts.push(value)
          continue
        }
        break
      case 6:
        if (isNamed(name, 'expect')) {
          expect = join(expect, value)
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
          contentLength = value
          continue
        }
        break
      case 17:
        if (isNamed(name, 'transfer-encoding')) transferEncoding = join(transferEncoding, value)
        else if (!isBelieved(name, 'client-cert-chain', trusted)) continue
        break
      case 21:
        if (isNamed(name, 'x-fapi-interaction-id')) interactionId = value
        break
    }
    if (isHopByHop(name)) continue
    if (requestIdField !== null && isNamed(name, requestIdField)) {
      ids++
      requestId = value
      continue
    }
    if (isForwarded(name)) {
      if (trusted && !name.includes('_')) forwarded = believe(forwarded, name, value, fields)
      continue
    }
    fields.push(name, value)
  }
  return {
    fields: connection === null ? fields : withoutNominated(fields, connection),
    bytes,
    hosts,
    contentLength,
    transferEncoding,
    via,
    expect,
    requestId: ids === 1 && requestId !== null && isSaneId(requestId) ? requestId : null,
    interactionId: interactionId !== null && isSaneId(interactionId) ? interactionId : null,
    forwarded,
  }
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
