import { getFirstFieldValue, type HeaderFields } from '../header-fields.ts'
import type { MediaTypeContract } from './compiled-contract.ts'

/** Reads the type of a message's body, in lower case and without parameters; null: it has none. */
export const readMediaType = (fields: HeaderFields): string | null => {
  const value = getFirstFieldValue(fields, 'content-type')
  if (value === undefined) return null
  const end = value.indexOf(';')
  return (end === -1 ? value : value.slice(0, end)).trim().toLowerCase()
}

/** Tells whether a type is JSON (RFC 6839 §3.1). */
export const isJson = (type: string): boolean => type === 'application/json' || type.endsWith('+json')

/** Finds what the contract says of a type: the type itself before `application/*` before any type. */
export const findMediaType = (content: readonly MediaTypeContract[], type: string): MediaTypeContract | null => {
  const range = `${type.slice(0, type.indexOf('/'))}/*`
  return (
    content.find((each) => each.type === type) ??
    content.find((each) => each.type === range) ??
    content.find((each) => each.type === '*/*') ??
    null
  )
}

/** Tells whether a body is compressed or coded in another way: what it says is not read. */
export const isCoded = (fields: HeaderFields): boolean => {
  const coding = getFirstFieldValue(fields, 'content-encoding')
  return coding !== undefined && coding.trim().toLowerCase() !== 'identity'
}
