import { type Fields, isNamed } from '../../fields.ts'

// The longest that a timer of Node's can wait, in whole seconds.
const maxSeconds = 2_147_483

/**
 * Reads for how many milliseconds an answer asks to wait. Only `Retry-After` in delta-seconds (RFC 9110 §10.2.3) is followed: what a date
 * means depends on two clocks, and of several fields nobody can tell which one holds. Null: nothing that is followed.
 */
export const retryAfterMs = (fields: Fields): number | null => {
  let found: string | null = null
  for (let i = 0; i < fields.length; i += 2) {
    if (!isNamed(fields[i] as string, 'retry-after')) continue
    if (found !== null) return null
    found = fields[i + 1] as string
  }
  return found !== null && deltaSeconds.test(found) ? Math.min(Number(found), maxSeconds) * 1000 : null
}

const deltaSeconds = /^[ \t]*[0-9]+[ \t]*$/
