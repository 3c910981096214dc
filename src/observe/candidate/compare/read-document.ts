import { type JsonFault, parseStrictJson } from '../../../contract/strict-json.ts'
import { toExactNumber } from './exact-number.ts'

/** A document that was read, or what is wrong with it. */
export type DocumentResult = { readonly value: unknown } | { readonly fault: JsonFault }

/** Reads a document of JSON, strictly. A number that no double holds as it is written is an {@link ExactNumber}. */
export const readDocument = (bytes: Buffer): DocumentResult => {
  const parsed = parseStrictJson(bytes)
  if ('fault' in parsed) return parsed
  const text = bytes.toString('utf8')
  return longNumber.test(text) ? { value: JSON.parse(text, keepExactNumber) } : parsed
}

// A number with up to fifteen digits is another double than every other such number, short of exponents of three
// digits. What looks so in a string costs time alone.
const longNumber = /[\d.]{16}|[\d.][eE][+-]?\d{3}/

/** Revives a number from its text, which JSON.parse gives beside the value. */
const keepExactNumber = (...[, value, context]: readonly unknown[]): unknown =>
  typeof value === 'number' && hasSource(context) ? toExactNumber(value, context.source) : value

const hasSource = (context: unknown): context is { readonly source: string } =>
  typeof context === 'object' && context !== null && 'source' in context
