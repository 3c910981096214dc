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
  'idempotency-key-missing': clientFailure(400, 'the operation asks for a key of idempotency, and there is none'),
  'idempotency-key-invalid': clientFailure(400, 'the key of idempotency is malformed, too long, or there are several'),
  'request-in-progress': clientFailure(409, 'a request with the same key has not ended yet'),
  'outcome-unknown': clientFailure(
    409,
    'a request with the same key may have been processed, and its response is lost',
  ),
  'response-not-kept': clientFailure(
    409,
    'a request with the same key was processed, and its response is no longer stored',
  ),
  'idempotency-key-reused': clientFailure(422, 'the key came before with another request'),
  'not-found': clientFailure(404, 'the path is none of the nine'),
  'method-not-allowed': clientFailure(405, 'the operation takes another method'),
  'unsupported-coding': clientFailure(501, 'the body is coded in a way that the gateway does not read'),
  'unsupported-version': clientFailure(505, 'the version of HTTP is none that the gateway speaks'),
  misdirected: clientFailure(421, 'Host names none of listen.hosts'),
  unauthenticated: clientFailure(401, 'the client did not prove who it is'),
  forbidden: clientFailure(403, 'the client may not do this'),
  'content-too-large': clientFailure(413, 'the body is larger than maxBody'),
  'unsupported-media-type': clientFailure(
    415,
    'the type, the charset or the coding of the body breaks the contract of the operation',
  ),
  'header-too-large': clientFailure(431, 'the header fields are larger than listen.maxHeaders'),
  'uri-too-long': clientFailure(414, 'the target is longer than listen.maxTarget'),
  'request-timeout': clientFailure(408, 'the request came too slowly'),
  'expectation-failed': clientFailure(417, 'Expect asks for something other than 100-continue'),
  'rate-limited': clientFailure(429, 'the client asks too often'),
  overloaded: gatewayFailure(503, 'there is no room for more'),
  'rejected-by-operator': gatewayFailure(503, 'the operation is taken out of service, by the file or by an operator'),
  'identity-unavailable': gatewayFailure(503, 'who knows whether the credential is good cannot be asked'),
  'audit-unavailable': gatewayFailure(503, 'the audit log cannot be written, and audit.onFailure is reject'),
  'idempotency-unavailable': gatewayFailure(
    503,
    'it cannot be remembered that the request happened, so it is not forwarded',
  ),
  loop: gatewayFailure(508, 'the request has been through this gateway already'),
  'no-healthy-endpoint': upstreamFailure(503, 'never', 'no endpoint of the group takes work'),
  'circuit-open': upstreamFailure(503, 'never', 'the circuit breaker of the group is open'),
  'connect-failed': upstreamFailure(502, 'always', 'the endpoint could not be connected to'),
  'connect-timeout': upstreamFailure(504, 'always', 'connecting took longer than timeouts.connect'),
  'tls-failed': upstreamFailure(502, 'always', 'no TLS connection to the endpoint came about'),
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
  'not-cached': clientFailure(504, 'the client takes only what is stored, and nothing is'),
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

/** As in the IANA registry: Node has older names for some. */
export const reasonPhrase = (status: number): string => phrases[status] ?? STATUS_CODES[status] ?? 'Error'

const phrases: Readonly<Record<number, string>> = { 413: 'Content Too Large', 422: 'Unprocessable Content' }
