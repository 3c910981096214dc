import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { getFieldValues, type HeaderFields } from '../../../../core/exchange/header-fields.ts'
import { ownMember } from '../../../../core/lib/plain-object.ts'
import { isJson, isUtf8Charset, readMediaType } from '../../../contract/check/media-type.ts'
import { type JsonFault, parseStrictJson } from '../../../contract/check/strict-json.ts'
import { toExactNumber } from './exact-number.ts'

export interface ComparedType {
  /** It comes from the upstream, and is kept and shown: what is no type is a word of the gateway. */
  readonly text: string
  readonly isJson: boolean
}

/** Reads the type of a body. Parameters say nothing of JSON (RFC 8259 §11), save for another charset. */
export const readComparedType = (fields: HeaderFields): ComparedType => {
  const mediaType = readMediaType(fields)
  if (mediaType === null) return { text: 'none', isJson: false }
  if (mediaType === 'several') return { text: 'several', isJson: false }
  const { type, parameters } = mediaType
  if (!typePattern.test(type)) return { text: 'malformed', isJson: false }
  if (isJson(type) && isUtf8Charset(parameters)) return { text: type, isJson: true }
  const charset = charsetParameter.exec(parameters)?.[1]?.toLowerCase()
  return { text: charset === undefined ? type : `${type}; charset=${charset}`, isJson: false }
}

const typePattern = /^[a-z0-9!#$&^_.+-]{1,64}\/[a-z0-9!#$&^_.+-]{1,64}$/
const charsetParameter = /;[ \t]*charset[ \t]*=[ \t]*"?([a-z0-9_.:+-]{1,32})/i

type Decode = (bytes: Buffer, options: { readonly maxOutputLength: number }) => Buffer

const decoders: Readonly<Record<string, Decode>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
}

/** Why a body was not decoded: its coding is not known, it is larger than the bound, or it is not in that coding. */
export type CodingFault = 'coded' | 'too-large' | 'corrupt'

/** Undoes the content coding of a body: two upstreams compress one document differently. */
export const decodeContent = (bytes: Buffer, fields: HeaderFields, maxBytes: number): Buffer | CodingFault => {
  const [coding, ...more] = getFieldValues(fields, 'content-encoding')
    .flatMap((value) => value.split(','))
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '' && each !== 'identity')
  if (coding === undefined) return bytes
  const decode = ownMember(decoders, coding)
  if (decode === undefined || more.length > 0) return 'coded'
  try {
    return decode(bytes, { maxOutputLength: maxBytes })
  } catch (error) {
    return error instanceof RangeError ? 'too-large' : 'corrupt'
  }
}

type DocumentResult = { readonly value: unknown } | { readonly fault: JsonFault }

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
