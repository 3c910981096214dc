import type { ClientRequest } from './wire.ts'

/**
 * Reads what the client expects (RFC 9110 §10.1.1): to be told to go on before it sends the body, nothing, or something that nobody knows.
 * HTTP/1.0 has no expectations.
 */
export const expectation = ({
  headers,
  httpVersion,
}: Pick<ClientRequest, 'headers' | 'httpVersion'>): 'none' | 'continue' | 'unknown' => {
  if (headers.expect === undefined || httpVersion === '1.0') return 'none'
  // RFC 9110 §5.6.1: empty elements of a list count for nothing.
  const expected = headers.expect.split(',').map((each) => each.trim().toLowerCase())
  if (expected.every((each) => each === '')) return 'none'
  return expected.every((each) => each === '' || each === '100-continue') ? 'continue' : 'unknown'
}
