import { randomBytes, randomUUID } from 'node:crypto'
import {
  dropConnectionNominated,
  fieldNameEquals,
  foldUnderscores,
  isHopByHop,
  isTwin,
  joinValues,
  targetOverrides,
} from '../../exchange/header-fields.ts'

/** A request's header section, read in one pass. Strings are latin1. */
export class RequestHead {
  /**
   * End-to-end fields as the client sent them, without Host, Content-Length, Expect and untrusted forwarding fields.
   */
  fields: string[] = []
  bytes = 0
  readonly hosts: string[] = []
  contentLength: string | null = null
  /** Several lines are joined with a comma. */
  transferEncoding: string | null = null
  via: string | null = null
  expect: string | null = null
  /** The client's own request id, if it is valid and the only one. */
  requestId: string | null = null
  /** The client's own interaction id, if it is valid; null where that field carries the request id. */
  interactionId: string | null = null
  forwarded = emptyForwarded
}

/**
 * Parses the raw header list. `requestIdField` is the lower-case name of the field that carries the request id, or
 * null. A twin of it is dropped: an upstream could take it for the id. `trusted` says that the peer is a proxy whose
 * forwarding fields are believed; those of any other peer are dropped. So are fields that name another target or
 * method, unless `keepsOverrides`. `readsForwarded` says that `Forwarded` is among them, and not handed on as it came.
 */
export const parseRequestHead = (
  raw: readonly string[],
  requestIdField: string | null,
  trusted: boolean,
  readsForwarded = false,
  keepsOverrides = false,
): RequestHead => {
  const head = new RequestHead()
  const { fields } = head
  let bytes = 0
  let connection: string | null = null
  let requestIdCount = 0
  const keepsAll = trusted || keepsOverrides
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    bytes += name.length + value.length + 4
    if (name.indexOf('_') !== -1 && isReservedTwin(name)) continue
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
        if (!trusted && fieldNameEquals(name, 'client-cert')) continue
        break
      case 14:
        if (fieldNameEquals(name, 'content-length')) {
          head.contentLength = value
          continue
        }
        break
      case 17:
        if (fieldNameEquals(name, 'transfer-encoding')) head.transferEncoding = joinValues(head.transferEncoding, value)
        else if (!trusted && fieldNameEquals(name, 'client-cert-chain')) continue
        break
      case 21:
        if (fieldNameEquals(name, 'x-fapi-interaction-id') && requestIdField !== 'x-fapi-interaction-id')
          head.interactionId = value
        break
    }
    if (isHopByHop(name)) continue
    if (requestIdField !== null) {
      if (fieldNameEquals(name, requestIdField)) {
        requestIdCount++
        head.requestId = value
        continue
      }
      if (isTwin(name, requestIdField)) continue
    }
    if (isForwardedName(name)) {
      if (trusted) head.forwarded = applyForwarded(head.forwarded, name, value, fields, readsForwarded)
      continue
    }
    if (!keepsAll && isTargetOverride(name)) continue
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

// The form of usual request ids: UUIDs, base64, `Root=1-…`. Nothing in it could end a field or a log line.
const requestIdPattern = /^[A-Za-z0-9._~+/=:@-]{1,128}$/

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

/** Creates the id of a request that brings none, by `requestId.format`; a UUID is of version 4 (RFC 9562 §5.4). */
export const createRequestId: Readonly<Record<'hex' | 'uuid', () => string>> = {
  hex: randomId,
  uuid: () => randomUUID(),
}

export interface ForwardedFields {
  /** The values of X-Forwarded-For, joined with a comma. */
  readonly for: string | null
  readonly proto: string | null
  readonly host: string | null
  /** The values of Forwarded (RFC 7239), joined with a comma, where `listen.forwarded` has it read. */
  readonly forwarded: string | null
}

/** What a peer that is not trusted says: nothing. */
export const emptyForwarded: ForwardedFields = { for: null, proto: null, host: null, forwarded: null }

const forwardedName = /^(?:forwarded|x-(?:forwarded(?:-.*)?|real-ip))$/i
const overrideName = new RegExp(`^(?:${targetOverrides.join('|')})$`, 'i')

/** Returns whether a field says who the client of a proxy is: those of a peer that is not trusted are dropped. */
const isForwardedName = (name: string): boolean => {
  const first = name.charCodeAt(0) | 0x20
  return (first === 0x78 || first === 0x66) && forwardedName.test(name)
}

/** Returns whether a back end may take a field for the target, or the method, in place of the request's own. */
const isTargetOverride = (name: string): boolean => {
  const first = name.charCodeAt(0) | 0x20
  return (first === 0x78 || first === 0x66 || first === 0x70) && overrideName.test(name)
}

/**
 * Returns whether a CGI-like back end reads the name of a field, which has an underscore, as that of another one: one
 * that the gateway drops or believes by whose it is, one that frames the message or ends at this hop, or one that
 * describes the content (RFC 9110 §8). A client could so add to what was checked, or send what was dropped.
 */
const isReservedTwin = (name: string): boolean => {
  const read = foldUnderscores(name)
  return (
    read.startsWith('content-') ||
    read === 'client-cert' ||
    read === 'client-cert-chain' ||
    isHopByHop(read) ||
    isForwardedName(read) ||
    isTargetOverride(read)
  )
}

/** Keeps a trusted proxy's field, except for those from which the gateway builds its own. */
const applyForwarded = (
  forwarded: ForwardedFields,
  name: string,
  value: string,
  fields: string[],
  readsForwarded: boolean,
): ForwardedFields => {
  if (fieldNameEquals(name, 'x-forwarded-for')) return { ...forwarded, for: joinValues(forwarded.for, value) }
  if (fieldNameEquals(name, 'x-forwarded-proto')) return { ...forwarded, proto: value }
  if (fieldNameEquals(name, 'x-forwarded-host')) return { ...forwarded, host: value }
  if (readsForwarded) {
    if (fieldNameEquals(name, 'forwarded')) return { ...forwarded, forwarded: joinValues(forwarded.forwarded, value) }
    // A proxy that says its client by Forwarded passes these on as the client wrote them.
    if (fieldNameEquals(name, 'x-real-ip') || fieldNameEquals(name, 'x-forwarded')) return forwarded
  }
  fields.push(name, value)
  return forwarded
}
