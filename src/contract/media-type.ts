import { fieldNameEquals, type HeaderFields } from '../header-fields.ts'
import type { MediaTypeContract } from './compiled-contract.ts'

/** The type of a body. */
export interface MediaType {
  /** In lower case. */
  readonly type: string
  /** With its first `;`, as it came; empty: there are none. */
  readonly parameters: string
}

/** Reads the type of a message's body; null: it has none; `several`: readers differ in which of them they take. */
export const readMediaType = (fields: HeaderFields): MediaType | 'several' | null => {
  let value: string | null = null
  for (let i = 0; i < fields.length; i += 2) {
    if (!fieldNameEquals(fields[i] as string, 'content-type')) continue
    if (value !== null) return 'several'
    value = fields[i + 1] as string
  }
  if (value === null) return null
  const end = value.indexOf(';')
  if (end === -1) return { type: value.trim().toLowerCase(), parameters: '' }
  return { type: value.slice(0, end).trim().toLowerCase(), parameters: value.slice(end) }
}

/** Tells whether a type is JSON (RFC 6839 §3.1). */
export const isJson = (type: string): boolean => type === 'application/json' || type.endsWith('+json')

/**
 * Tells whether parameters of a type name no other charset than UTF-8, the one of JSON (RFC 8259 §8.1). An extended
 * parameter, `charset*` or `charset*0`, is another one, whatever it says: readers differ in whether they decode it (RFC
 * 2231 §3, §4), and HTTP has none in a type (RFC 9110 §8.3.1).
 */
export const isUtf8Charset = (parameters: string): boolean => {
  if (parameters === '') return true
  for (const [, charset] of parameters.matchAll(charsetParameter))
    if (!utf8Names.includes(charset?.trimEnd().toLowerCase() ?? '*')) return false
  return true
}

const charsetParameter = /;[ \t]*charset(?:\*|[ \t]*=[ \t]*("[^"]*"|[^;]*))/gi
const utf8Names = ['utf-8', '"utf-8"', 'utf8', '"utf8"', 'us-ascii', '"us-ascii"']

/** Finds what the contract says of a type: the type itself before `application/*` before any type. */
export const findMediaType = (content: readonly MediaTypeContract[], type: string): MediaTypeContract | null => {
  for (const each of content) if (each.type === type) return each
  const range = `${type.slice(0, type.indexOf('/'))}/*`
  return content.find((each) => each.type === range) ?? content.find((each) => each.type === '*/*') ?? null
}

/** Tells whether a body is compressed or coded in another way: what it says is not read. */
export const isCoded = (fields: HeaderFields): boolean => {
  for (let i = 0; i < fields.length; i += 2)
    if (fieldNameEquals(fields[i] as string, 'content-encoding') && !isIdentity(fields[i + 1] as string)) return true
  return false
}

// RFC 9110 §5.6.1: a list may have empty elements.
const isIdentity = (codings: string): boolean =>
  codings.split(',').every((coding) => ['', 'identity'].includes(coding.trim().toLowerCase()))
