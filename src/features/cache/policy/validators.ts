import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import { parseHttpDate } from '../../../core/exchange/http1/http-date.ts'
import { fieldLines } from './header-list.ts'

/** The validators that tell one representation from another (RFC 9110 §8.8). */
export interface Validators {
  /** As it came; null: there is none, several, or it is no entity tag. */
  readonly etag: string | null
  /** As it came; null: there is none, several, or it is no date. */
  readonly lastModified: string | null
  /** The same in milliseconds. */
  readonly lastModifiedAt: number | null
  /** Whether `Last-Modified` is a strong validator (RFC 9110 §8.8.2.2). */
  readonly isLastModifiedStrong: boolean
}

/** `date` is its own Date, or null. */
export const parseValidators = (fields: HeaderFields, date: number | null, now: number): Validators => {
  const etag = onlyLine(fieldLines(fields, 'etag'))
  const modified = onlyLine(fieldLines(fields, 'last-modified'))
  const lastModifiedAt = modified === null ? null : parseHttpDate(modified, now)
  return {
    etag: etag !== null && isEntityTag(etag) ? etag : null,
    lastModified: lastModifiedAt === null ? null : modified,
    lastModifiedAt,
    // Both are of one clock. Within the same second it could have been modified again.
    isLastModifiedStrong: lastModifiedAt !== null && date !== null && date - lastModifiedAt >= 1000,
  }
}

export const hasValidator = ({ etag, lastModified }: Validators): boolean => etag !== null || lastModified !== null

const onlyLine = (lines: readonly string[]): string | null => (lines.length === 1 ? (lines[0] ?? null) : null)

// RFC 9110 §8.8.3: no escapes, so a backslash is a character like any other. W/ is case-sensitive.
const entityTag = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/
const nextTag = /[ \t,]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?=,|$)/y

export const isEntityTag = (text: string): boolean => entityTag.test(text)

/** Tells whether an entity tag is weak: representations with the same one are equivalent, not identical. */
export const isWeak = (tag: string): boolean => tag.startsWith('W/')

/** Compares two entity tags weakly (RFC 9110 §8.8.3.2): enough where the whole response is meant. */
export const matchesWeakly = (one: string, other: string): boolean => opaque(one) === opaque(other)

/** Compares two entity tags strongly (RFC 9110 §8.8.3.2): required where parts of responses are put together. */
export const matchesStrongly = (one: string, other: string): boolean => one === other && !isWeak(one)

/** Tells whether a list of entity tags has a weak match. What follows a malformed member is not read. */
export const listMatchesWeakly = (list: string, tag: string): boolean => {
  nextTag.lastIndex = 0
  for (let found = nextTag.exec(list); found !== null; found = nextTag.exec(list)) {
    if (matchesWeakly(found[1] as string, tag)) return true
  }
  return false
}

const opaque = (tag: string): string => (isWeak(tag) ? tag.slice(2) : tag)
