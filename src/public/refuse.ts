import { now, wallClock } from '../clock.ts'
import type { GatewayError } from '../failures/errors.ts'
import { failures, type Kind, phraseOf } from '../failures/kinds.ts'
import type { Fields } from '../fields.ts'
import { awaitTaken } from './taken.ts'
import type { Visit } from './visit.ts'

// An unread body up to this size is discarded to keep the connection; a larger one costs more than a new connection.
const discardBytes = 64 * 1024

// RFC 9110 §15.1: a cache may store 404, 405, 414 and 501 unasked. A refusal is of one request at one moment.
const problemFields = ['Content-Type', 'application/problem+json', 'Cache-Control', 'no-store'] as const

/** Renders the body of an error (RFC 9457): what happened, never why. `requestId` is null when ids are switched off. */
const problem = (kind: Kind, requestId: string | null): string => {
  const { status } = failures[kind]
  const body = { type: 'about:blank', title: phraseOf(status), status, code: kind }
  return JSON.stringify(requestId === null ? body : { ...body, requestId })
}

/** Answers a visit with an error of the gateway's own, or cuts it off when an answer had begun. */
export const refuse = (visit: Visit, error: GatewayError): void => {
  const { response, snapshot, head } = visit
  visit.failure ??= error
  if (error.kind === 'client-gone' || response.destroyed) return
  if (response.headersSent) return visit.cut(error)

  const idField = snapshot.config.requestId.header
  const body = problem(error.kind, idField === null ? null : visit.requestId) // ASCII: an id is a sane token
  const fields = [...problemFields, 'Content-Length', String(body.length), ...error.fields]
  if (idField !== null) fields.push(idField, visit.requestId)
  fields.push(...(visit.exchange?.answerFields ?? []))
  if (head.interactionId !== null) fields.push('x-fapi-interaction-id', head.interactionId)
  if (closes(visit)) response.last(visit, true)
  if (visit.request.method !== 'HEAD') visit.bytesOut = body.length
  response.writeFields(error.status, phraseOf(error.status), fields)
  visit.firstByteMs = now() - visit.startedAt
  response.end(body, 'latin1') // a string and not bytes: it leaves in one piece with the head
  awaitTaken(visit)
}

/** Tells whether the connection must end with this answer: it is draining, or the rest of the request is not worth reading. */
const closes = ({ request, head, body, draining, expects, failure }: Visit): boolean => {
  // RFC 9110 §15.5.9: whoever sent the rest too slowly is not waited for again.
  if (draining() || failure?.kind === 'request-timeout') return true
  if (request.complete || body?.received === true) return false
  if (head.transferEncoding !== null) return true
  const length = Number(head.contentLength ?? 0)
  if (length === 0) return false
  // A client that was not told to continue may send the body or not: nobody knows where the next request begins (RFC 9110 §10.1.1).
  return length > discardBytes || !(body?.invited ?? expects !== 'continue')
}

/** Renders an answer, head and body, for a socket on which no request could be parsed. */
export const rawProblem = (
  kind: Kind,
  requestId: string,
  idField: string | null,
  more: Fields,
): { readonly head: string; readonly body: string } => {
  const { status } = failures[kind]
  const body = problem(kind, idField === null ? null : requestId)
  const fields = [...problemFields, 'Content-Length', String(body.length), 'Date', new Date(wallClock()).toUTCString()]
  fields.push(...more)
  if (idField !== null) fields.push(idField, requestId)
  fields.push('Connection', 'close')
  let head = `HTTP/1.1 ${status} ${phraseOf(status)}\r\n`
  for (let i = 0; i < fields.length; i += 2) head += `${fields[i]}: ${fields[i + 1]}\r\n`
  return { head: `${head}\r\n`, body }
}
