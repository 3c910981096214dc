/** What a client waits for before it sends a body: for 100 Continue, for nothing, or for something unknown. */
export type Expectation = 'none' | 'continue' | 'unknown'

/**
 * Parses the field `Expect` (RFC 9110 §10.1.1), its lines joined with a comma; null: there is none. HTTP/1.0 has no
 * expectations.
 */
export const parseExpectation = (field: string | null, httpVersion: string): Expectation => {
  if (field === null || httpVersion === '1.0') return 'none'
  // RFC 9110 §5.6.1: empty elements of a list count for nothing.
  const expected = field.split(',').map((each) => each.trim().toLowerCase())
  if (expected.every((each) => each === '')) return 'none'
  return expected.every((each) => each === '' || each === '100-continue') ? 'continue' : 'unknown'
}
