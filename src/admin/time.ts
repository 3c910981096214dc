/** Writes a time as RFC 3339. */
export const time = (ms: number): string => new Date(ms).toISOString()
