import { randomBytes, randomUUID } from 'node:crypto'
import {
  dropConnectionNominated,
  fieldNameEquals,
  foldUnderscores,
  interactionIdField,
  isHopByHop,
  isTwin,
  joinValues,
  targetOverrides,
} from '../../exchange/header-fields.ts'

/** Read in one pass. Strings are latin1. */
export class RequestHead {
  /** End-to-end fields as sent, without Host, Content-Length, Expect and untrusted forwarding fields. */
  fields: string[] = []
  bytes = 0
  readonly hosts: string[] = []
  contentLength: string | null = null
  transferEncoding: string | null = null
  via: string | null = null
  expect: string | null = null
  /** The client's id, if valid and sent once. */
  requestId: string | null = null
  /** The client's id, if valid; null also where that field carries the request id. */
  interactionId: string | null = null
  forwarded = emptyForwarded
}

/**
 * `requestIdField`: lower-case; null: off. An upstream could take its twins for the id, so they are dropped. Unless the
 * peer is `trusted`, forwarding fields are dropped, and overrides unless `keepsOverrides`. `readsForwarded`:
 * `Forwarded` is read, not passed on.
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
    // Comparing lengths is cheap, and most fields match no length.
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
        if (fieldNameEquals(name, interactionIdField) && requestIdField !== interactionIdField)
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

export type Expectation = 'none' | 'continue' | 'unknown'

/** RFC 9110 §10.1.1. `field`: its lines joined with a comma. HTTP/1.0 has no expectations. */
export const parseExpectation = (field: string | null, httpVersion: string): Expectation => {
  if (field === null || httpVersion === '1.0') return 'none'
  // RFC 9110 §5.6.1: empty elements are ignored.
  const expected = field.split(',').map((each) => each.trim().toLowerCase())
  if (expected.every((each) => each === '')) return 'none'
  return expected.every((each) => each === '' || each === '100-continue') ? 'continue' : 'unknown'
}

// UUIDs, base64, `Root=1-…`; no character could end a field or a log line.
const requestIdPattern = /^[A-Za-z0-9._~+/=:@-]{1,128}$/

export const isValidRequestId = (id: string): boolean => requestIdPattern.test(id)

const idBytes = 16
const idsPerBatch = 256
let randomPool = Buffer.alloc(0)
let randomOffset = 0

export const randomId = (): string => {
  if (randomOffset === randomPool.length) {
    randomPool = randomBytes(idBytes * idsPerBatch)
    randomOffset = 0
  }
  randomOffset += idBytes
  return randomPool.toString('hex', randomOffset - idBytes, randomOffset)
}

/** By `requestId.format`; a UUID is of version 4 (RFC 9562 §5.4). */
export const createRequestId: Readonly<Record<'hex' | 'uuid', () => string>> = {
  hex: randomId,
  uuid: () => randomUUID(),
}

export interface ForwardedFields {
  readonly for: string | null
  readonly proto: string | null
  readonly host: string | null
  /** RFC 7239, joined with a comma; null also where `listen.forwarded` does not read it. */
  readonly forwarded: string | null
}

/** For every untrusted peer too. */
export const emptyForwarded: ForwardedFields = { for: null, proto: null, host: null, forwarded: null }

const forwardedName = /^(?:forwarded|x-(?:forwarded(?:-.*)?|real-ip))$/i
const overrideName = new RegExp(`^(?:${targetOverrides.join('|')})$`, 'i') // a back end may take one for target or method

const isForwardedName = (name: string): boolean => {
  const first = name.charCodeAt(0) | 0x20
  return (first === 0x78 || first === 0x66) && forwardedName.test(name)
}

const isTargetOverride = (name: string): boolean => {
  const first = name.charCodeAt(0) | 0x20
  return (first === 0x78 || first === 0x66 || first === 0x70) && overrideName.test(name)
}

/**
 * A CGI-like back end reads an underscore as a hyphen: a client could add to a checked field, or send a dropped one.
 * Reserved: fields that the gateway drops or trusts by peer, framing, hop-by-hop fields, and those of the content (RFC
 * 9110 §8).
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
    // A proxy that sends Forwarded passes these on as the client wrote them.
    if (fieldNameEquals(name, 'x-real-ip') || fieldNameEquals(name, 'x-forwarded')) return forwarded
  }
  fields.push(name, value)
  return forwarded
}
