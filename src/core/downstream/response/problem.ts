import type { Violation } from '../../exchange/failures/errors.ts'
import { type FailureKind, failureTable, reasonPhrase } from '../../exchange/failures/failure-table.ts'
import type { HeaderFields } from '../../exchange/header-fields.ts'
import { epochMs } from '../../lib/clock.ts'

// RFC 9110 §15.1: caches may store 404, 405, 414 and 501 unasked.
export const problemFields = ['Content-Type', 'application/problem+json', 'Cache-Control', 'no-store'] as const

/** RFC 9457, in ASCII; never the cause. `requestId` null: ids are off. */
export const renderProblem = (
  kind: FailureKind,
  requestId: string | null,
  violations: readonly Violation[] = [],
): string => {
  const { status } = failureTable[kind]
  const body = { type: 'about:blank', title: reasonPhrase(status), status, code: kind }
  const known = { ...body, ...(requestId === null ? {} : { requestId }) }
  if (violations.length === 0) return JSON.stringify(known)
  // With the client's own names, escaped: no terminal acts on their control characters.
  const errors = violations.map(({ ownPointer, ...each }) => ({ ...each, pointer: ownPointer ?? each.pointer }))
  return JSON.stringify({ ...known, errors }).replaceAll(/[\x7f-\uffff]/g, toEscape)
}

const toEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

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
