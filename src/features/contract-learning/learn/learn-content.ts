import { looksLikeData } from '../../contract/looks-like-data.ts'
import { learnValue } from './learn-value.ts'
import type { LearnedContent, LearnedMediaType } from './learned-contract.ts'
import { createNameTable, findOrAddKnownName, findOrAddName, learnedInTable } from './name-table.ts'
import { createShape, type LearningContext, type Shape } from './shape.ts'

/** The most content types of one operation's requests, and of its responses with one status. */
const maxMediaTypes = 8

export interface ObservedContent {
  /** The value of Content-Type; null: there was none. */
  readonly contentType: string | null
  /** A value of JSON.parse; undefined: there was no body, or it was not read. */
  readonly body: unknown
}

export const createLearnedContent = (): LearnedContent => ({
  count: 0,
  empty: 0,
  untyped: 0,
  mediaTypes: createNameTable(),
})

export const createMediaType = (): LearnedMediaType => ({ count: 0, body: createShape() })

export const learnContent = (
  context: LearningContext,
  content: LearnedContent,
  { contentType, body }: ObservedContent,
): void => {
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

/** Types without anything in their names that a client could have made up. */
const knownTypes = [
  'application/json',
  'application/problem+json',
  'application/xml',
  'application/pdf',
  'application/octet-stream',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'text/csv',
  'text/html',
  'text/plain',
]

const findMediaType = (
  context: LearningContext,
  content: LearnedContent,
  contentType: string,
): LearnedMediaType | undefined => {
  // RFC 9110 §8.3.1: parameters are left out, which hold boundaries and whatever else a client writes.
  const [written = ''] = contentType.split(';', 1)
  const essence = written.trim().toLowerCase()
  const table = { max: maxMediaTypes, create: createMediaType }
  const known = knownTypes.find((type) => type === essence)
  if (known !== undefined) return findOrAddKnownName(content.mediaTypes, known, table)
  if (mediaTypeName.test(essence) && !essence.split(/[/+]/).some(looksLikeData))
    return findOrAddName(content.mediaTypes, essence, context, table)
  content.untyped++
  return undefined
}

const mediaTypeName = /^(?:application|audio|font|image|message|model|multipart|text|video)\/[a-z0-9.+-]{1,64}$/
