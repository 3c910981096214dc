/** What a response says of its request: it was processed, it was not, or that cannot be told. */
export type ProcessedState = 'done' | 'free' | 'unknown'

// The upstream has not taken the request on: the credential, the rate, the time or the state of the resource was wrong,
// and a repetition may find it right.
const freeStatuses: ReadonlySet<number> = new Set([401, 403, 408, 409, 425, 429])

/** Tells from the status of an upstream's response whether the request was processed. */
export const classifyResponse = (status: number): ProcessedState => {
  if (status >= 500) return 'unknown'
  return freeStatuses.has(status) ? 'free' : 'done'
}
