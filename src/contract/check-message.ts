import type { HeaderFields } from '../header-fields.ts'
import type {
  MediaTypeContract,
  ParameterContract,
  RequestContract,
  ResponseContract,
  SchemaName,
  Violation,
} from './compiled-contract.ts'
import { findMediaType, isCoded, isJson, readMediaType } from './media-type.ts'
import { type ParameterValue, parseQuery, readHeaderParameter, readQueryParameter } from './parameter-values.ts'
import { type JsonFault, parseStrictJson } from './strict-json.ts'
import type { ContractValidators } from './validators.ts'
import { escapeSegment, maxViolations } from './violations.ts'

/** What a check of a message's head leaves to do: nothing, a body to check, or a body that cannot be checked. */
export type BodyCheck =
  | { readonly kind: 'none' }
  | { readonly kind: 'schema'; readonly schema: SchemaName }
  | { readonly kind: 'unchecked'; readonly why: UncheckedReason }

/**
 * Why a body is not checked beyond its type. `partial`: it is a part of one (206). `busy`: too many bodies wait to be
 * checked.
 */
export type UncheckedReason = 'too-large' | 'coded' | 'not-json' | 'partial' | 'busy'

/** The result of checking a head. */
export interface HeadCheck {
  readonly violations: readonly Violation[]
  readonly body: BodyCheck
}

const noBody: BodyCheck = { kind: 'none' }

/** The head of a request. `hasBody` false: it says that it has none. */
export interface RequestHeadParts {
  readonly query: string
  readonly fields: HeaderFields
  readonly hasBody: boolean
}

/** Checks the query, the fields and the type of a request. */
export const checkRequestHead = (
  { parameters, body }: RequestContract,
  validators: ContractValidators,
  { query, fields, hasBody }: RequestHeadParts,
): HeadCheck => {
  const violations: Violation[] = []
  checkParameters(parameters, validators, query, fields, violations)
  if (body === null) return { violations, body: noBody }
  if (!hasBody) {
    if (body.required) violations.push(missingBody)
    return { violations, body: noBody }
  }
  return { violations, body: checkType(body.content, fields, violations) }
}

/** The violation of a request that has to have a body. */
export const missingBody: Violation = {
  pointer: '',
  in: 'body',
  rule: 'required',
  detail: 'the request has to have a body',
}

/** Checks the status, the fields and the type of a response. */
export const checkResponseHead = (
  responses: readonly ResponseContract[],
  validators: ContractValidators,
  status: number,
  fields: HeaderFields,
): HeadCheck => {
  // RFC 9110 §15.4.5: it repeats a response that was sent before.
  if (status === 304) return { violations: [], body: noBody }
  const contract = findResponse(responses, status) ?? (status === 206 ? findResponse(responses, 200) : null)
  if (contract === null)
    return {
      violations: [
        { pointer: '', in: 'status', rule: 'status', detail: 'the contract has no response of this status' },
      ],
      body: noBody,
    }
  const violations: Violation[] = []
  checkParameters(contract.headers, validators, '', fields, violations)
  // RFC 9110 §15.3.5: there is no content, whatever its fields say.
  if (contract.content === null || status === 204) return { violations, body: noBody }
  const body = checkType(contract.content, fields, violations)
  return { violations, body: body.kind === 'schema' && status === 206 ? { kind: 'unchecked', why: 'partial' } : body }
}

const findResponse = (responses: readonly ResponseContract[], status: number): ResponseContract | null => {
  const range = `${Math.floor(status / 100)}XX`
  return (
    responses.find((each) => each.status === String(status)) ??
    responses.find((each) => each.status === range) ??
    responses.find((each) => each.status === 'default') ??
    null
  )
}

/** Checks a body. Bodies of at most {@link smallBodyBytes} have all of their violations listed, others the first. */
export const checkBody = (schema: SchemaName, validators: ContractValidators, bytes: Buffer): readonly Violation[] => {
  const parsed = parseStrictJson(bytes)
  if ('fault' in parsed) return [faultViolations[parsed.fault]]
  return validators.validate(schema, parsed.value, 'body', { isSmall: bytes.length <= smallBodyBytes })
}

// A body of 1 MiB can break a schema in a hundred thousand places, and Ajv makes an object of each.
const smallBodyBytes = 16 * 1024

const jsonViolation = (rule: string, detail: string): Violation => ({ pointer: '', in: 'body', rule, detail })

const faultViolations: Readonly<Record<JsonFault, Violation>> = {
  'not-utf8': jsonViolation('utf-8', 'the body has to be UTF-8 (RFC 8259 §8.1)'),
  'not-json': jsonViolation('json', 'the body has to be JSON'),
  'duplicate-member': jsonViolation('duplicate-member', 'no name may stand twice in an object (RFC 8259 §4)'),
  'too-deep': jsonViolation('depth', 'arrays and objects may stand in each other 100 levels deep'),
}

const checkType = (content: readonly MediaTypeContract[], fields: HeaderFields, violations: Violation[]): BodyCheck => {
  if (content.length === 0) return noBody
  const type = readMediaType(fields)
  const contract = type === null ? null : findMediaType(content, type)
  if (type === null || contract === null) {
    const types = content.map((each) => each.type).join(', ')
    const rule = type === null ? 'required' : 'content-type'
    violations.push({ pointer: '', in: 'content-type', rule, detail: `the type of the body has to be ${types}` })
    return noBody
  }
  if (contract.schema === null) return isJson(type) ? noBody : { kind: 'unchecked', why: 'not-json' }
  if (!isJson(type)) return { kind: 'unchecked', why: 'not-json' }
  return isCoded(fields) ? { kind: 'unchecked', why: 'coded' } : { kind: 'schema', schema: contract.schema }
}

const checkParameters = (
  contracts: readonly ParameterContract[],
  validators: ContractValidators,
  query: string,
  fields: HeaderFields,
  violations: Violation[],
): void => {
  if (contracts.length === 0) return
  const inQuery = parseQuery(query)
  if (inQuery === null) violations.push({ pointer: '', in: 'query', ...parameterFaults.encoding })
  for (const contract of contracts) {
    if (violations.length >= maxViolations) return
    if (contract.in === 'query') {
      if (inQuery !== null) checkParameter(contract, validators, readQueryParameter(contract, inQuery), violations)
    } else checkParameter(contract, validators, readHeaderParameter(contract, fields), violations)
  }
}

const checkParameter = (
  { name, in: place, required, schema }: ParameterContract,
  validators: ContractValidators,
  read: ParameterValue,
  violations: Violation[],
): void => {
  const pointer = `/${escapeSegment(name)}`
  if (read.kind === 'fault') violations.push({ pointer, in: place, ...parameterFaults[read.rule] })
  else if (read.kind === 'absent') {
    if (required) violations.push({ pointer, in: place, rule: 'required', detail: 'the parameter has to be there' })
  } else if (schema !== null)
    violations.push(...validators.validate(schema, read.value, place, { isSmall: true, prefix: pointer }))
}

const parameterFaults: Readonly<
  Record<Extract<ParameterValue, { kind: 'fault' }>['rule'], Pick<Violation, 'rule' | 'detail'>>
> = {
  encoding: { rule: 'encoding', detail: 'the percent-encoding is broken (RFC 3986 §2.1)' },
  'duplicate-parameter': { rule: 'duplicate-parameter', detail: 'the parameter may stand there once' },
  json: { rule: 'json', detail: 'the value has to be JSON' },
}
