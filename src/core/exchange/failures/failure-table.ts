import { STATUS_CODES } from '../node-http.ts'

export type FaultOrigin = 'client' | 'gateway' | 'upstream'

/** `always`: no byte was sent. `replayable`: the operation is safe or keyed, and the body can be sent again. */
type RetryRule = 'always' | 'replayable' | 'never'

interface FailureRow {
  readonly status: number
  readonly fault: FaultOrigin
  readonly retry: RetryRule
  /** For operators, where no reason says more. No full stop. */
  readonly text: string
}

type CreateRow = (fault: FaultOrigin, status: number, retry: RetryRule, text: string) => FailureRow
const row: CreateRow = (fault, status, retry, text) => ({ status, fault, retry, text })
const clientFailure = (status: number, text: string) => row('client', status, 'never', text)
const gatewayFailure = (status: number, text: string) => row('gateway', status, 'never', text)
const upstreamFailure = (status: number, retry: RetryRule, text: string) => row('upstream', status, retry, text)

/** Clients get the status, and the kind as `code`. */
export const failureTable = {
  'bad-request': clientFailure(400, 'the request is malformed'),
  'invalid-request': clientFailure(400, 'the request breaks the contract of the operation'),
  'idempotency-key-missing': clientFailure(400, 'the operation requires an idempotency key, and the request has none'),
  'idempotency-key-invalid': clientFailure(
    400,
    'the idempotency key is malformed or too long, or the request has several',
  ),
  'request-in-progress': clientFailure(409, 'a request with the same idempotency key has not ended yet'),
  'outcome-unknown': clientFailure(
    409,
    'a request with the same idempotency key may have been processed, and its response is lost',
  ),
  'response-not-kept': clientFailure(
    409,
    'a request with the same idempotency key was processed, and its response is no longer stored',
  ),
  'idempotency-key-reused': clientFailure(422, 'the idempotency key was used before, with another request'),
  'not-found': clientFailure(404, 'the path is not one of the nine'),
  'method-not-allowed': clientFailure(405, 'the operation takes another method'),
  'unsupported-coding': clientFailure(501, 'the gateway does not support the transfer coding of the body'),
  'unsupported-version': clientFailure(505, 'the gateway does not support this version of HTTP'),
  misdirected: clientFailure(421, 'Host is not in listen.hosts'),
  unauthenticated: clientFailure(401, 'the client did not prove its identity'),
  forbidden: clientFailure(403, 'the client is known, and may not send this request'),
  'content-too-large': clientFailure(413, 'the body is larger than maxBody'),
  'unsupported-media-type': clientFailure(
    415,
    'the type, the charset or the coding of the body breaks the contract of the operation',
  ),
  'header-too-large': clientFailure(431, 'the header fields are larger than listen.maxHeaders'),
  'uri-too-long': clientFailure(414, 'the target is longer than listen.maxTarget'),
  'request-timeout': clientFailure(408, 'the request came too slowly'),
  'expectation-failed': clientFailure(417, 'Expect asks for something other than 100-continue'),
  'rate-limited': clientFailure(429, 'the client sends too many requests'),
  overloaded: gatewayFailure(503, 'the gateway has no room for another request'),
  'rejected-by-operator': gatewayFailure(503, 'the operation is taken out of service, by the file or by an operator'),
  'identity-unavailable': gatewayFailure(
    503,
    'the credential cannot be checked: the issuer, the authorization server or the replay cache does not reply',
  ),
  'audit-unavailable': gatewayFailure(503, 'the audit log cannot be written, and audit.onFailure is reject'),
  'idempotency-unavailable': gatewayFailure(
    503,
    'the idempotency key cannot be stored, so the request is not forwarded',
  ),
  loop: gatewayFailure(508, 'the request has passed through this gateway before (Via)'),
  'no-healthy-endpoint': upstreamFailure(503, 'never', 'no endpoint of the group accepts requests'),
  'circuit-open': upstreamFailure(503, 'never', 'the circuit breaker of the group is open'),
  'connect-failed': upstreamFailure(502, 'always', 'no connection to the endpoint could be opened'),
  'connect-timeout': upstreamFailure(504, 'always', 'connecting took longer than timeouts.connect'),
  'tls-failed': upstreamFailure(502, 'always', 'the TLS handshake with the endpoint failed'),
  'reset-before-headers': upstreamFailure(502, 'replayable', 'the endpoint closed the connection before it responded'),
  'headers-timeout': upstreamFailure(504, 'replayable', 'the endpoint did not respond within timeouts.headers'),
  'bad-response': upstreamFailure(502, 'replayable', 'the response of the endpoint is malformed'),
  'invalid-response': upstreamFailure(
    502,
    'never',
    'the response of the endpoint breaks the contract of the operation',
  ),
  'deadline-exceeded': gatewayFailure(504, 'there was no response within the deadline of the operation'),
  // RFC 9111 §5.2.1.7.
  'not-cached': clientFailure(504, 'the client accepts only a stored response, and none is stored'),
  // The head was relayed already: the client's connection is cut, and 502 is only in the log.
  truncated: upstreamFailure(502, 'never', 'the response of the endpoint broke off'),
  // Only in the log.
  'client-gone': clientFailure(499, 'the client left before its response was complete'),
  internal: gatewayFailure(500, 'the gateway itself failed: the log says where'),
} as const satisfies Record<string, FailureRow>

/** `code` in a response, `failure` in the log. */
export type FailureKind = keyof typeof failureTable

export const allFailureKinds = Object.keys(failureTable) as readonly FailureKind[]

/** A late upstream may only show as a missed deadline. */
export const mayBeUpstreamFault = (kind: FailureKind): boolean =>
  failureTable[kind].fault === 'upstream' || kind === 'deadline-exceeded'

/** The reason phrase of the IANA registry: Node has older phrases for some status codes. */
export const reasonPhrase = (status: number): string => phrases[status] ?? STATUS_CODES[status] ?? 'Error'

const phrases: Readonly<Record<number, string>> = { 413: 'Content Too Large', 422: 'Unprocessable Content' }
