import {
  dropConnectionNominated,
  fieldNameEquals,
  isHopByHop,
  isTwin,
  joinValues,
} from '../../exchange/header-fields.ts'
import {
  applyForwarded,
  emptyForwarded,
  isForwardedName,
  isReservedTwin,
  isTargetOverride,
} from './forwarding-headers.ts'
import { isValidRequestId } from './request-id.ts'

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
