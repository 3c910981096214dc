import type { GatewayError, Violation } from '../../exchange/failures/errors.ts'
import { type FailureKind, failureTable, reasonPhrase } from '../../exchange/failures/kinds.ts'
import { type HeaderFields, interactionIdField } from '../../exchange/header-fields.ts'
import { epochMs, now } from '../../lib/clock.ts'
import type { ActiveRequest } from '../request/active-request.ts'
import { awaitFlush } from './response-flush.ts'

// An unread body up to this size is discarded to keep the connection; a larger one costs more than a new connection.
const maxDiscardBytes = 64 * 1024

// RFC 9110 §15.1: a cache may store 404, 405, 414 and 501 unasked. A local reply is for one request at one moment.
const problemFields = ['Content-Type', 'application/problem+json', 'Cache-Control', 'no-store'] as const

/**
 * Renders the body of an error (RFC 9457), in ASCII: what happened, never why. `requestId` is null when ids are
 * switched off.
 */
const renderProblem = (kind: FailureKind, requestId: string | null, violations: readonly Violation[] = []): string => {
  const { status } = failureTable[kind]
  const body = { type: 'about:blank', title: reasonPhrase(status), status, code: kind }
  const known = { ...body, ...(requestId === null ? {} : { requestId }) }
  if (violations.length === 0) return JSON.stringify(known)
  // The client's own names lead it to the place. Whatever it wrote in them, no terminal acts upon an escape.
  const errors = violations.map(({ ownPointer, ...each }) => ({ ...each, pointer: ownPointer ?? each.pointer }))
  return JSON.stringify({ ...known, errors }).replaceAll(/[\x7f-\uffff]/g, toEscape)
}

const toEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Sends an error of the gateway's own, or cuts the response off when one had begun. */
export const sendLocalReply = (activeRequest: ActiveRequest, error: GatewayError): void => {
  const { response, snapshot, head } = activeRequest
  activeRequest.failure ??= error
  if (error.kind === 'client-gone' || response.destroyed) return
  if (response.headersSent) return activeRequest.reset(error)

  const requestIdField = snapshot.config.requestId.header
  const body = renderProblem(error.kind, requestIdField === null ? null : activeRequest.requestId, error.violations)
  const fields = [...problemFields, 'Content-Length', String(body.length), ...error.fields]
  if (requestIdField !== null) fields.push(requestIdField, activeRequest.requestId)
  fields.push(...(activeRequest.exchange?.addedResponseFields ?? []))
  if (head.interactionId !== null) fields.push(interactionIdField, head.interactionId)
  if (closesConnection(activeRequest)) response.markLast(activeRequest, true)
  if (activeRequest.request.method !== 'HEAD') activeRequest.bytesOut = body.length
  response.writeFields(error.status, reasonPhrase(error.status), fields)
  activeRequest.firstByteMs = now() - activeRequest.startedAt
  response.end(body) // a string and not bytes: it leaves in one piece with the head
  awaitFlush(activeRequest)
}

/**
 * Returns whether the connection must end with this response: it is draining, or the rest of the request is not worth
 * reading.
 */
const closesConnection = ({ request, head, body, isDraining, expectation, failure }: ActiveRequest): boolean => {
  // RFC 9110 §15.5.9: a client that sent the rest too slowly is not waited for again.
  if (isDraining || failure?.kind === 'request-timeout') return true
  if (request.complete || body?.received === true) return false
  if (head.transferEncoding !== null) return true
  const length = Number(head.contentLength ?? 0)
  if (length === 0) return false
  // A client that was not told to continue may send the body or not: where the next request begins is unknown (RFC 9110
  // §10.1.1).
  return length > maxDiscardBytes || !(body?.clientMaySend ?? expectation !== 'continue')
}

/** Renders an error, head and body, for a socket on which no request could be parsed. */
export const renderRawProblem = (
  kind: FailureKind,
  requestId: string,
  requestIdField: string | null,
  extraFields: HeaderFields,
): { readonly head: string; readonly body: string } => {
  const { status } = failureTable[kind]
  const body = renderProblem(kind, requestIdField === null ? null : requestId)
  const fields = [...problemFields, 'Content-Length', String(body.length), 'Date', new Date(epochMs()).toUTCString()]
  fields.push(...extraFields)
  if (requestIdField !== null) fields.push(requestIdField, requestId)
  fields.push('Connection', 'close')
  let head = `HTTP/1.1 ${status} ${reasonPhrase(status)}\r\n`
  for (let i = 0; i < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`
  return { head: `${head}\r\n`, body }
}
