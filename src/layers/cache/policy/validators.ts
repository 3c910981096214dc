import type { Fields } from '../../../fields.ts'
import { isEntityTag } from './entity-tag.ts'
import { parseDate } from './http-date.ts'
import { linesOf } from './list.ts'

/** Is what tells one representation from another (RFC 9110 §8.8). */
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

/** Reads the validators of an answer; `date` is its own Date, or null. */
export const validatorsOf = (fields: Fields, date: number | null, now: number): Validators => {
  const etag = only(linesOf(fields, 'etag'))
  const modified = only(linesOf(fields, 'last-modified'))
  const lastModifiedAt = modified === null ? null : parseDate(modified, now)
  return {
    etag: etag !== null && isEntityTag(etag) ? etag : null,
    lastModified: lastModifiedAt === null ? null : modified,
    lastModifiedAt,
    // Both are of one clock. Within the same second it could have been modified again.
    isLastModifiedStrong: lastModifiedAt !== null && date !== null && date - lastModifiedAt >= 1000,
  }
}

/** Tells whether the upstream can be asked if it is still good. */
export const hasValidator = ({ etag, lastModified }: Validators): boolean => etag !== null || lastModified !== null

const only = (lines: readonly string[]): string | null => (lines.length === 1 ? (lines[0] ?? null) : null)
