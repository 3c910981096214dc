import { hash } from 'node:crypto'
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import { getFieldValues, type HeaderFields } from '../../../../core/exchange/header-fields.ts'
import { ownMember } from '../../../../core/lib/plain-object.ts'
import { isCoded, isJson, isUtf8Charset, readMediaType } from '../../../contract/check/media-type.ts'
import { type JsonFault, parseStrictJson } from '../../../contract/check/strict-json.ts'
import { compareJson, compilePointerRules, type JsonRules } from './compare-json.ts'
import {
  type ComparedResponse,
  type Comparison,
  type ComparisonRules,
  createDifferences,
  type Differences,
} from './comparison.ts'
import { toExactNumber } from './exact-number.ts'

// More differences between two unrelated documents say nothing new.
const maxDifferencesTold = 50

export const createComparison = (rules: ComparisonRules, maxBytes: number) => {
  const jsonRules: JsonRules = { places: compilePointerRules(rules), numbers: rules.numbers }
  const fieldNames = rules.fields.map((name) => ({ name, lower: name.toLowerCase() }))

  /** `isNoise` gets a {@link differenceKey}. */
  return (
    primary: ComparedResponse,
    candidate: ComparedResponse,
    isNoise: (key: string) => boolean = () => false,
    maxDifferences = maxDifferencesTold,
  ): Comparison => {
    const differences = createDifferences(isNoise, maxDifferences)
    if (primary.failure !== null || primary.status === null) return { kind: 'uncompared', why: 'primary-failed' }
    const hasFailed = candidate.failure !== null || candidate.status === null
    if (hasFailed || primary.status !== candidate.status) {
      const hasValidated = primary.status === 304 || candidate.status === 304
      if (!hasFailed && hasValidated) return { kind: 'uncompared', why: 'not-modified' }
      if (hasFailed) differences.add('failure', '', primary.status, candidate.failure, true)
      else differences.add('status', '', primary.status, candidate.status, true)
      return { kind: 'compared', differences: differences.list(), isCut: false }
    }
    for (const { name, lower } of fieldNames) {
      const [one, other] = [joinField(primary.fields, lower), joinField(candidate.fields, lower)]
      if (one !== other) differences.add('field', name, one, other)
    }
    const [type, otherType] = [readComparedType(primary.fields), readComparedType(candidate.fields)]
    if (type.text !== otherType.text) differences.add('content-type', '', type.text, otherType.text, true)
    const end = compareBodies({ ...primary, type }, { ...candidate, type: otherType }, differences, jsonRules, maxBytes)
    // Differences found so far count, even when the rest cannot be compared.
    const found = differences.list()
    if (end !== 'complete' && end !== 'cut' && found.length === 0) return { kind: 'uncompared', why: end }
    return { kind: 'compared', differences: found, isCut: end !== 'complete' }
  }
}

const joinField = (fields: HeaderFields, lower: string): string =>
  getFieldValues(fields, lower)
    .map((value) => value.trim())
    .join(', ')

type TypedResponse = ComparedResponse & { readonly type: ComparedType }

const compareBodies = (
  primary: TypedResponse,
  candidate: TypedResponse,
  differences: Differences,
  jsonRules: JsonRules,
  maxBytes: number,
): 'complete' | 'cut' | 'too-large' | 'coded' | 'too-complex' => {
  const areJson = primary.type.isJson && candidate.type.isJson
  // With different types, the bodies differ anyway.
  if (!areJson && primary.type.text !== candidate.type.text) return 'complete'
  const [raw, otherRaw] = [primary.body.bytes, candidate.body.bytes]
  if (raw === null || otherRaw === null) return compareHashes(primary, candidate, differences)
  if (raw.equals(otherRaw) && isCoded(primary.fields) === isCoded(candidate.fields)) return 'complete'
  const body = decodeContent(raw, primary.fields, maxBytes)
  const other = decodeContent(otherRaw, candidate.fields, maxBytes)
  for (const fault of ['coded', 'too-large'] as const) if (body === fault || other === fault) return fault

  const [bytes, otherBytes] = [toBytes(body, raw), toBytes(other, otherRaw)]
  // A part of a document (206) is not valid JSON.
  const isDocument = areJson && primary.status !== 206
  const read = (each: Buffer | CodingFault) => {
    if (typeof each === 'string') return { fault: each }
    return isDocument ? readDocument(each) : { value: each }
  }
  const [one, another] = [read(body), read(other)]
  if (isDocument && 'value' in one && 'value' in another)
    return compareJson(one.value, another.value, jsonRules, differences, bytes.length + otherBytes.length)
  const [fault, otherFault] = [one, another].map((each) => ('fault' in each ? each.fault : 'readable'))
  if (fault !== otherFault) differences.add('unreadable', '', fault, otherFault, true)
  else if (!bytes.equals(otherBytes)) differences.add('bytes', '', describeBytes(bytes), describeBytes(otherBytes))
  return 'complete'
}

const toBytes = (decoded: Buffer | CodingFault, raw: Buffer): Buffer => (typeof decoded === 'string' ? raw : decoded)

const compareHashes = (primary: TypedResponse, candidate: TypedResponse, differences: Differences) => {
  const [hash, other] = [primary, candidate].map(({ body: { bytes, sha256: known } }) =>
    bytes === null ? known : sha256(bytes),
  )
  if (hash == null) return 'too-large'
  if (hash === other) return 'complete'
  // Without a hash, the candidate's body was cut because it is far longer: no other spelling of one document.
  const isFarLonger = other == null && primary.body.bytes !== null
  // One document has several spellings: order of members, content coding.
  if (isCoded(primary.fields) || isCoded(candidate.fields) || (primary.type.isJson && !isFarLonger)) return 'too-large'
  const candidateHash =
    other == null ? `more than ${candidate.body.length} bytes` : describeHash(candidate.body.length, other)
  differences.add('bytes', '', describeHash(primary.body.length, hash), candidateHash)
  return 'complete'
}

const sha256 = (bytes: Buffer): string => hash('sha256', bytes, 'hex')

const describeBytes = (bytes: Buffer): string => describeHash(bytes.length, sha256(bytes))

const describeHash = (length: number, hash: string): string => `${length} bytes, SHA-256 ${hash.slice(0, 16)}`

interface ComparedType {
  /** Kept and shown, so a malformed type of the upstream is replaced. */
  readonly text: string
  readonly isJson: boolean
}

/** Parameters have no meaning for JSON (RFC 8259 §11), except another charset. */
const readComparedType = (fields: HeaderFields): ComparedType => {
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

const decoders: Readonly<Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Buffer>> = {
  ...{ gzip: gunzipSync, 'x-gzip': gunzipSync, deflate: inflateSync },
  ...{ br: brotliDecompressSync, zstd: zstdDecompressSync },
}

/** `coded`: an unknown coding. `corrupt`: not in the stated coding. */
type CodingFault = 'coded' | 'too-large' | 'corrupt'

const decodeContent = (bytes: Buffer, fields: HeaderFields, maxBytes: number): Buffer | CodingFault => {
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

/** A number that a double cannot hold exactly becomes an {@link ExactNumber}. */
const readDocument = (bytes: Buffer): { readonly value: unknown } | { readonly fault: JsonFault } => {
  const parsed = parseStrictJson(bytes)
  if ('fault' in parsed) return parsed
  const text = bytes.toString('utf8')
  return longNumber.test(text) ? { value: JSON.parse(text, keepExactNumber) } : parsed
}

// Distinct doubles hold all numbers of up to 15 digits, unless the exponent has three. A match inside a string only
// costs time.
const longNumber = /[\d.]{16}|[\d.][eE][+-]?\d{3}/

/** JSON.parse passes the number's text beside its value. */
const keepExactNumber = (...[, value, context]: readonly unknown[]): unknown =>
  typeof value === 'number' && hasSource(context) ? toExactNumber(value, context.source) : value

const hasSource = (context: unknown): context is { readonly source: string } =>
  typeof context === 'object' && context !== null && 'source' in context
