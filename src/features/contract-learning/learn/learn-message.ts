import { foldUnderscores, type HeaderFields, namesCredential } from '../../../core/exchange/header-fields.ts'
import { splitMediaType } from '../../contract/check/media-type.ts'
import { decodeForm, parseQuery } from '../../contract/check/parameter-values.ts'
import { looksLikeData } from '../../contract/looks-like-data.ts'
import {
  createField,
  createMediaType,
  createParameter,
  type LearnedContent,
  type LearnedParameter,
  type LearnedRequest,
} from './learned-contract.ts'
import { findOrAddName, learnedInTable, type NameTable, type Sighting } from './name-table.ts'
import { type LearningContext, learnValue, type Shape } from './shape.ts'

export const learnQuery = (context: LearningContext, request: LearnedRequest, query: string): void => {
  for (const [name, values] of parseQuery(query) ?? parseQuery(query.replaceAll(/[^&=]+/g, keepBroken)) ?? []) {
    const parameter = findName(request, request.parameters, name, context, createParameter)
    if (parameter !== undefined) learnParameter(context, parameter, values.map(decode))
  }
}

const keepBroken = (raw: string): string => (decodeForm(raw) === null ? raw.replaceAll('%', '%25') : raw)

/** WHATWG URL §5.1 (forms); a broken percent-encoding stays as it is. */
const decode = (raw: string): string => decodeForm(raw) ?? raw.replaceAll('+', ' ')

export const parameterShapes = ({ parameters }: LearnedRequest): readonly Shape[] =>
  learnedInTable(parameters).map(({ values }) => values)

const maxNames = 32

/** Undefined: the name looks like data, or the table is full. */
const findName = <T>(
  request: LearnedRequest,
  table: NameTable<T>,
  name: string,
  sighting: Sighting,
  create: () => T,
): T | undefined => {
  const isData = !table.named.has(name) && looksLikeData(name)
  if (isData) request.dataNames++
  return isData ? undefined : findOrAddName(table, name, sighting, { max: maxNames, create })
}

const learnParameter = (context: LearningContext, parameter: LearnedParameter, values: readonly string[]): void => {
  parameter.count++
  if (values.length > 1) parameter.repeated++
  for (const value of values) {
    if (value === 'true' || value === 'false') parameter.booleans++
    if (integerText.test(value)) parameter.integers++
    if (numberText.test(value)) parameter.numbers++
    learnValue(context, parameter.values, value)
  }
}

// As JSON writes them, and exact in a double: 007 is a code, and twenty digits are an id.
const integerText = /^-?(?:0|[1-9]\d{0,14})$/
const numberText = /^-?(?:0|[1-9]\d{0,8})(?:\.\d{1,6})?$|^-?[1-9]\d{0,14}$/

/** Of other fields, only those that begin with `x-` are learned. */
const registered = ['accept-language', 'idempotency-key', 'if-match', 'if-none-match', 'prefer']

// Set by the gateway or a proxy.
const ignored = /^x-(?:forwarded-|real-ip$|request-id$)/

/** Names only, no values. Left out are `credentialFields`, folded, and names that suggest credentials. */
export const learnFields = (
  sighting: Sighting,
  request: LearnedRequest,
  fields: HeaderFields,
  credentialFields: ReadonlySet<string>,
): void => {
  for (const [name, times] of countByName(fields)) {
    const field = credentialFields.has(name)
      ? undefined
      : findName(request, request.fields, name, sighting, createField)
    if (field === undefined) continue
    field.count++
    if (times > 1) field.repeated++
  }
}

const countByName = (fields: HeaderFields): ReadonlyMap<string, number> => {
  const times = new Map<string, number>()
  for (let i = 0; i < fields.length; i += 2) {
    const name = foldUnderscores(fields[i] ?? '')
    if (registered.includes(name) || (name.startsWith('x-') && !ignored.test(name) && !namesCredential(name)))
      times.set(name, (times.get(name) ?? 0) + 1)
  }
  return times
}

const maxMediaTypes = 8

export interface ObservedContent {
  readonly contentType: string | null
  /** Undefined: there was no body, or it was not read. */
  readonly body: unknown
}

export const learnContent = (context: LearningContext, content: LearnedContent, observed: ObservedContent): void => {
  const { contentType, body } = observed
  content.count++
  if (contentType === null && body === undefined) {
    content.empty++
    return
  }
  const mediaType = findMediaType(context, content, contentType ?? '')
  if (mediaType === undefined) return
  mediaType.count++
  if (body !== undefined) learnValue(context, mediaType.body, body)
}

export const bodyShapes = (content: LearnedContent): readonly Shape[] =>
  learnedInTable(content.mediaTypes).map(({ body }) => body)

/** A client cannot have made up these names. */
const knownTypes = [
  ...['json', 'problem+json', 'xml', 'pdf', 'octet-stream', 'x-www-form-urlencoded'].map(
    (name) => `application/${name}`,
  ),
  'multipart/form-data',
  ...['csv', 'html', 'plain'].map((name) => `text/${name}`),
]

const findMediaType = (context: LearningContext, content: LearnedContent, contentType: string) => {
  // RFC 9110 §8.3.1: parameters hold boundaries and other texts of clients, so they are left out.
  const { type: essence } = splitMediaType(contentType)
  const table = { max: maxMediaTypes, create: createMediaType }
  const known = knownTypes.find((type) => type === essence)
  if (known !== undefined) return findOrAddName(content.mediaTypes, known, null, table)
  if (mediaTypeName.test(essence) && !essence.split(/[/+]/).some(looksLikeData))
    return findOrAddName(content.mediaTypes, essence, context, table)
  content.untyped++
  return undefined
}

const mediaTypeName = /^(?:application|audio|font|image|message|model|multipart|text|video)\/[a-z0-9.+-]{1,64}$/
