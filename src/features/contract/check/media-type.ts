import { fieldNameEquals, type HeaderFields, isHttpToken, trimBlanks } from '../../../core/exchange/header-fields.ts'
import type { MediaTypeContract, MediaTypeParameter } from './compiled-contract.ts'

interface MediaType {
  /** In lower case. */
  readonly type: string
  /** With the first `;`, or empty. */
  readonly parameters: string
}

/** `several`: readers differ in which type they take. */
export const readMediaType = (fields: HeaderFields): MediaType | 'several' | null => {
  let value: string | null = null
  for (let i = 0; i < fields.length; i += 2) {
    if (!fieldNameEquals(fields[i] as string, 'content-type')) continue
    if (value !== null) return 'several'
    value = fields[i + 1] as string
  }
  return value === null ? null : splitMediaType(value)
}

export const splitMediaType = (value: string): MediaType => {
  const end = value.indexOf(';')
  if (end === -1) return { type: value.trim().toLowerCase(), parameters: '' }
  return { type: value.slice(0, end).trim().toLowerCase(), parameters: value.slice(end) }
}

/** RFC 6839 §3.1. */
export const isJson = (type: string): boolean => type === 'application/json' || type.endsWith('+json')

/**
 * JSON has no charset but UTF-8 (RFC 8259 §8.1). An extended parameter, `charset*` or `charset*0`, counts as another:
 * readers differ in whether they decode it (RFC 2231 §3, §4), and HTTP has none in a type (RFC 9110 §8.3.1).
 */
export const isUtf8Charset = (parameters: string): boolean => {
  if (parameters === '') return true
  for (const [, charset] of parameters.matchAll(charsetParameter))
    if (!utf8Names.includes(charset?.trimEnd().toLowerCase() ?? '*')) return false
  return true
}

const charsetParameter = /;[ \t]*charset(?:\*|[ \t]*=[ \t]*("[^"]*"|[^;]*))/gi
const utf8Names = ['utf-8', '"utf-8"', 'utf8', '"utf8"', 'us-ascii', '"us-ascii"']

/**
 * The most specific key (OpenAPI 3.1 §4.8.14.1): the type itself before `application/*` before any type, then the most
 * stated parameters. An entry with a parameter that the type does not state is for other bodies. Null: no entry, or
 * readers differ in which.
 */
export const findMediaType = (content: readonly MediaTypeContract[], mediaType: MediaType) => {
  const { type } = mediaType
  if (isAmbiguous(content, mediaType)) return null
  return (
    findMostSpecific(content, type, mediaType) ??
    findMostSpecific(content, `${type.slice(0, type.indexOf('/'))}/*`, mediaType) ??
    findMostSpecific(content, '*/*', mediaType)
  )
}

/**
 * A parameter has two values, or all are malformed: the upstream could read another version than the gateway checks.
 */
const isAmbiguous = (content: readonly MediaTypeContract[], { parameters }: MediaType): boolean => {
  if (parameters === '') return false
  const inKeys = content.flatMap((each) => each.parameters ?? []).map(([name]) => name)
  const names = inKeys.filter((name) => name !== 'charset') // any other charset is rejected anyway
  if (names.length === 0) return false
  const stated = parseParameters(parameters)
  return (
    stated === null || names.some((name) => new Set(stated.filter((each) => each[0] === name).map(String)).size > 1)
  )
}

const findMostSpecific = (content: readonly MediaTypeContract[], range: string, { parameters }: MediaType) => {
  let found: MediaTypeContract | null = null
  let foundRank = -1
  let stated: ReturnType<typeof parseParameters> | undefined
  for (const each of content) {
    if (each.type !== range) continue
    if (each.parameters !== undefined) stated ??= parseParameters(parameters)
    const rank = each.parameters === undefined ? 1 : rankParameters(each.parameters, stated ?? null)
    if (rank <= foundRank) continue
    found = each
    foundRank = rank
  }
  return found
}

const rankParameters = (wanted: readonly MediaTypeParameter[], stated: readonly MediaTypeParameter[] | null) => {
  let rank = 0
  for (const [name, value] of wanted) {
    if (stated === null) return -1
    const values = stated.filter((each) => each[0] === name)
    if (name === 'charset' && value === 'utf-8' && values.every((each) => each[1] === 'us-ascii')) continue // or none
    if (values.length === 0 || values.some((each) => each[1] !== value)) return -1
    rank += 2
  }
  return rank
}

const nextParameter =
  /[ \t]*;[ \t]*(?:([!#$%&'*+.^_`|~0-9a-z-]+)=(?:([!#$%&'*+.^_`|~0-9a-z-]+)|"((?:[^"\\]|\\.)*)"))?/iy

/** RFC 9110 §5.6.6, §8.3.1: names and charsets in lower case, values without quotation marks. Null: malformed. */
export const parseParameters = (text: string): readonly MediaTypeParameter[] | null => {
  const parameters: MediaTypeParameter[] = []
  const trimmed = trimBlanks(text)
  for (let at = 0; at < trimmed.length; at = nextParameter.lastIndex) {
    nextParameter.lastIndex = at
    const match = nextParameter.exec(trimmed)
    if (match === null) return null
    const [, name, token, quoted] = match
    if (name === undefined) continue // RFC 9110 §5.6.6: nothing may follow a semicolon
    const lower = name.toLowerCase()
    const value = token ?? quoted?.replaceAll(/\\(.)/g, '$1') ?? ''
    parameters.push([lower, lower === 'charset' ? value.toLowerCase().replace(/^utf8$/, 'utf-8') : value])
  }
  return parameters
}

export const formatMediaType = ({ type, parameters = [] }: MediaTypeContract): string =>
  parameters.reduce(
    (text, [name, value]) => `${text}; ${name}=${isHttpToken(value) ? value : JSON.stringify(value)}`,
    type,
  )

export const isCoded = (fields: HeaderFields): boolean => {
  for (let i = 0; i < fields.length; i += 2)
    if (fieldNameEquals(fields[i] as string, 'content-encoding') && !isIdentity(fields[i + 1] as string)) return true
  return false
}

// RFC 9110 §5.6.1: a list may have empty elements.
const isIdentity = (codings: string): boolean =>
  codings.split(',').every((coding) => ['', 'identity'].includes(coding.trim().toLowerCase()))
