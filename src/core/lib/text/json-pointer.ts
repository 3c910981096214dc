/** RFC 6901 §3. */
export const escapeSegment = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

/** RFC 6901 §4. */
export const unescapeSegment = (segment: string): string => segment.replaceAll('~1', '/').replaceAll('~0', '~')
