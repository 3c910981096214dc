import type { Violation, ViolationPlace } from '../../../core/exchange/failures/errors.ts'
import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import {
  type MediaTypeContract,
  type RequestContract,
  type ResponseContract,
  type SchemaName,
  upstreamErrorRule,
} from './compiled-contract.ts'
import { findMediaType, formatMediaType, isCoded, isJson, isUtf8Charset, readMediaType } from './media-type.ts'
import { checkParameters } from './parameter-values.ts'
import { type JsonFault, parseStrictJson } from './strict-json.ts'
import { type ContractValidators, shorten, tooComplex } from './validators.ts'

export type BodyCheck =
  | { readonly kind: 'none' }
  | { readonly kind: 'schema'; readonly schema: SchemaName }
  | { readonly kind: 'unchecked'; readonly why: UncheckedReason; readonly hasSchema: boolean }

/** `partial`: a 206. `busy`: too many bodies wait. `too-complex`: the check was given up. */
export type UncheckedReason = 'too-large' | 'coded' | 'not-json' | 'partial' | 'too-complex' | 'busy'

function violation(place: ViolationPlace, rule: string, detail: string): Violation {
  return { pointer: '', in: place, rule, detail }
}

export const uncheckedViolations: Readonly<Record<Exclude<UncheckedReason, 'busy'>, Violation>> = {
  'too-large': violation('body', 'too-large', 'the body is too large to be checked'),
  coded: { pointer: '/content-encoding', in: 'header', rule: 'coded', detail: 'the body must have no content coding' },
  'not-json': violation('content-type', 'not-json', 'the type of the body must be JSON'),
  partial: violation('status', 'partial', 'a part of a body cannot be checked'),
  'too-complex': { pointer: '', in: 'body', ...tooComplex },
}

export interface HeadCheck {
  readonly violations: readonly Violation[]
  readonly body: BodyCheck
}

const noBody: BodyCheck = { kind: 'none' }

export const checkRequestHead = (
  { parameters, body }: RequestContract,
  validators: ContractValidators,
  { query, fields, hasBody }: { readonly query: string; readonly fields: HeaderFields; readonly hasBody: boolean },
): HeadCheck => {
  const violations: Violation[] = []
  checkParameters(parameters, validators, query, fields, violations)
  if (body !== null && hasBody) return { violations, body: checkType(body.content, fields, violations) }
  if (body?.required) violations.push(missingBody)
  return { violations, body: noBody }
}

export const missingBody = violation('body', 'required', 'the request must have a body')

export interface ResponseHeadParts {
  readonly status: number
  readonly fields: HeaderFields
  /** In lower case: added later. */
  readonly laterFields?: ReadonlySet<string>
  readonly hasContent: boolean
}

export const checkResponseHead = (
  responses: readonly ResponseContract[],
  validators: ContractValidators,
  { status, fields, laterFields, hasContent }: ResponseHeadParts,
): HeadCheck => {
  // RFC 9110 §15.4.5: a 304 repeats a response that was sent before.
  if (status === 304) return { violations: [], body: noBody }
  const contract = findResponse(responses, status)
  if (contract === null) return { violations: [status >= 500 ? upstreamError : unknownStatus], body: noBody }
  const violations: Violation[] = []
  checkParameters(contract.headers, validators, '', fields, violations, laterFields)
  // RFC 9110 §15.3.5: a 204 has no content, whatever its fields say.
  if (contract.content === null || status === 204) return { violations, body: noBody }
  // OpenAPI 3.1 §4.8.17: `content` lists potential payloads, and requires none.
  if (!hasContent && readMediaType(fields) === null) return { violations, body: noBody }
  const check = status === 206 ? checkTypeOfPart : checkType
  return { violations, body: check(contract.content, fields, violations) }
}

const unknownStatus = violation('status', 'status', 'the contract has no response of this status')

export const upstreamError = violation(
  'status',
  upstreamErrorRule,
  'the upstream failed, with a status that the contract does not have',
)

export const lacksType = (violations: readonly Violation[]): boolean =>
  violations.some((each) => each.in === 'content-type' && each.rule === 'required')

const findResponse = (responses: readonly ResponseContract[], status: number): ResponseContract | null => {
  // RFC 9110 §15.3.7: a 206 has parts of the body of a 200.
  const exact = status === 206 ? ['206', '200'] : [String(status)]
  for (const name of [...exact, `${Math.floor(status / 100)}XX`, 'default']) {
    const found = responses.find((each) => each.status === name)
    if (found !== undefined) return found
  }
  return null
}

export const checkBody = (schema: SchemaName, validators: ContractValidators, bytes: Buffer) => {
  const parsed = parseStrictJson(bytes)
  if ('fault' in parsed) return [faultViolations[parsed.fault]]
  const violations = validators.validate(schema, parsed.value, 'body', { bytes: bytes.length })
  return violations[0]?.rule === tooComplex.rule ? null : violations
}

const faultViolations: Readonly<Record<JsonFault, Violation>> = {
  'not-utf8': violation('body', 'utf-8', 'the body must be UTF-8 (RFC 8259 §8.1)'),
  'not-json': violation('body', 'json', 'the body must be JSON'),
  'duplicate-member': violation('body', 'duplicate-member', 'an object must have each name once (RFC 8259 §4)'),
  'too-deep': violation('body', 'depth', 'arrays and objects must be nested at most 100 levels deep'),
}

const checkType = (content: readonly MediaTypeContract[], fields: HeaderFields, violations: Violation[]): BodyCheck => {
  if (content.length === 0) return noBody
  const mediaType = readMediaType(fields)
  if (mediaType === 'several') return reject(violations, 'duplicate-field', 'Content-Type must be sent once')
  const contract = mediaType === null ? null : findMediaType(content, mediaType)
  if (mediaType === null || contract === null) {
    const types = content.map(formatMediaType).join(', ')
    const rule = mediaType === null ? 'required' : 'content-type'
    return reject(violations, rule, shorten(`the type of the body must be ${types}`))
  }
  const { type, parameters } = mediaType
  if (!isJson(type)) return { kind: 'unchecked', why: 'not-json', hasSchema: contract.schema !== null }
  if (contract.schema === null) return noBody
  if (!isUtf8Charset(parameters)) return reject(violations, 'charset', utf8Alone)
  return isCoded(fields) ? coded : { kind: 'schema', schema: contract.schema }
}

const reject = (violations: Violation[], rule: string, detail: string): BodyCheck => {
  violations.push(violation('content-type', rule, detail))
  return noBody
}

const utf8Alone = 'the charset of JSON is UTF-8 (RFC 8259 §8.1): send charset=utf-8, or none'

const severalRanges = 'multipart/byteranges'

/** A 206 with several parts is of the type multipart/byteranges, and each part states the body's type. */
const checkTypeOfPart: typeof checkType = (content, fields, violations) => {
  const mediaType = readMediaType(fields)
  const isSeveral = mediaType !== 'several' && mediaType?.type === severalRanges // RFC 9110 §15.3.7.2
  if (isSeveral && findMediaType(content, { type: severalRanges, parameters: '' }) === null)
    return content.some(({ schema }) => schema !== null) ? partial : noBody
  const body = checkType(content, fields, violations)
  return body.kind === 'schema' ? partial : body
}

const coded: BodyCheck = { kind: 'unchecked', why: 'coded', hasSchema: true }
const partial: BodyCheck = { kind: 'unchecked', why: 'partial', hasSchema: true }
