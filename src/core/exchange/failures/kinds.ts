import { STATUS_CODES } from '../node-http.ts'

export type FaultOrigin = 'client' | 'gateway' | 'upstream'

/** `always`: no byte was sent. `replayable`: the operation is safe or keyed, and the body can be sent again. */
type RetryRule = 'always' | 'replayable' | 'never'

interface FailureRow {
  readonly status: number
  readonly fault: FaultOrigin
  readonly retry: RetryRule
  /** For operators, where no reason says more. Without a full stop. */
  readonly text: string
  /** For the documentation. */
  readonly remedy: string
}

const clientFailure = (status: number, text: string, remedy: string): FailureRow => ({
  status,
  fault: 'client',
  retry: 'never',
  text,
  remedy,
})
const gatewayFailure = (status: number, text: string, remedy: string): FailureRow => ({
  ...clientFailure(status, text, remedy),
  fault: 'gateway',
})
const upstreamFailure = (status: number, retry: RetryRule, text: string, remedy: string): FailureRow => ({
  ...clientFailure(status, text, remedy),
  fault: 'upstream',
  retry,
})

const lookAtUpstream = 'the operator looks at the upstream'
const mayBeProcessed = `${lookAtUpstream}; the request may have been processed`

/** Alone decides status, fault, retry and the texts for operators. Clients get the status, and the kind as `code`. */
export const failureTable = {
  'bad-request': clientFailure(400, 'the request is malformed', 'mend the request'),
  'invalid-request': clientFailure(
    400,
    'the request breaks the contract of the operation',
    'see `errors`, which name each place',
  ),
  'idempotency-key-missing': clientFailure(
    400,
    'the operation asks for a key of idempotency, and there is none',
    'send one, a new one for each thing to be done',
  ),
  'idempotency-key-invalid': clientFailure(
    400,
    'the key of idempotency is malformed, too long, or there are several',
    'send one key of visible characters and blanks between them, such as a UUID',
  ),
  'request-in-progress': clientFailure(
    409,
    'a request with the same key has not ended yet',
    'wait as `Retry-After` says, and repeat the request with the same key',
  ),
  'outcome-unknown': clientFailure(
    409,
    'a request with the same key may have been processed, and its answer is lost',
    'ask the operator what became of it; a new key does it once more',
  ),
  'response-not-kept': clientFailure(
    409,
    'a request with the same key was processed, and its answer is no longer there',
    'do not repeat it: it was done',
  ),
  'idempotency-key-reused': clientFailure(
    422,
    'the key came before with another request',
    'use a new key for each thing to be done',
  ),
  'not-found': clientFailure(
    404,
    'the path is none of the nine',
    'compare with the nine: case, encoding, trailing slash, `basePath`',
  ),
  'method-not-allowed': clientFailure(405, 'the operation takes another method', 'see `Allow`'),
  'unsupported-coding': clientFailure(
    501,
    'the body is coded in a way that the gateway does not read',
    'use `chunked` alone',
  ),
  'unsupported-version': clientFailure(
    505,
    'the version of HTTP is none that the gateway speaks',
    'use 1.1, or HTTP/2 over TLS',
  ),
  misdirected: clientFailure(421, 'Host names none of listen.hosts', "use the gateway's own name"),
  unauthenticated: clientFailure(401, 'the client did not prove who it is', 'send a credential that is good'),
  forbidden: clientFailure(403, 'the client may not do this', 'the operator looks at its entry under `clients`'),
  'content-too-large': clientFailure(413, 'the body is larger than maxBody', 'send less'),
  'unsupported-media-type': clientFailure(
    415,
    'the type, the charset or the coding of the body breaks the contract of the operation',
    'see `errors`, which say what it has to be',
  ),
  'header-too-large': clientFailure(431, 'the header fields are larger than listen.maxHeaders', 'send fewer'),
  'uri-too-long': clientFailure(414, 'the target is longer than listen.maxTarget', 'shorten the query'),
  'request-timeout': clientFailure(408, 'the request came too slowly', 'send faster'),
  'expectation-failed': clientFailure(417, 'Expect asks for something other than 100-continue', 'leave it out'),
  'rate-limited': clientFailure(
    429,
    'the client asks too often',
    'wait as `Retry-After` says; see `RateLimit` before it comes to that',
  ),
  overloaded: gatewayFailure(
    503,
    'there is no room for more',
    'wait as `Retry-After` says; the operator looks at `limits` in `/status`, and why the endpoints are slow',
  ),
  'refused-by-operator': gatewayFailure(
    503,
    'the operation is taken out of service, by the file or by an operator',
    'wait; ask the operator',
  ),
  'identity-unavailable': gatewayFailure(
    503,
    'who knows whether the credential is good cannot be asked',
    'wait as `Retry-After` says; the operator looks at the log',
  ),
  'audit-unavailable': gatewayFailure(
    503,
    'the audit log cannot be written, and audit.onFailure is refuse',
    'wait; the operator looks at `audit` in `/status`: a full disk?',
  ),
  'idempotency-unavailable': gatewayFailure(
    503,
    'it cannot be remembered that the request happened, so it is not forwarded',
    'wait as `Retry-After` says; the operator looks at `idempotency` in `/status`',
  ),
  loop: gatewayFailure(
    508,
    'the request has been through this gateway already',
    'an upstream points back here: mend the configuration',
  ),
  'no-healthy-endpoint': upstreamFailure(
    503,
    'never',
    'no endpoint of the group takes work',
    'wait; the operator makes one ready, or gives it a weight',
  ),
  'circuit-open': upstreamFailure(
    503,
    'never',
    'the circuit breaker of the group is open',
    'wait as `Retry-After` says',
  ),
  'connect-failed': upstreamFailure(502, 'always', 'the endpoint could not be connected to', lookAtUpstream),
  'connect-timeout': upstreamFailure(504, 'always', 'connecting took longer than timeouts.connect', lookAtUpstream),
  'tls-failed': upstreamFailure(502, 'always', 'no TLS connection to the endpoint came about', lookAtUpstream),
  'reset-before-headers': upstreamFailure(
    502,
    'replayable',
    'the endpoint closed the connection before it answered',
    mayBeProcessed,
  ),
  'headers-timeout': upstreamFailure(
    504,
    'replayable',
    'the endpoint did not answer within timeouts.headers',
    mayBeProcessed,
  ),
  'bad-answer': upstreamFailure(502, 'replayable', 'the answer of the endpoint is malformed', mayBeProcessed),
  'invalid-response': upstreamFailure(
    502,
    'never',
    'the response of the endpoint breaks the contract of the operation',
    mayBeProcessed,
  ),
  'deadline-exceeded': gatewayFailure(504, 'there was no answer within the deadline of the operation', mayBeProcessed),
  // The client takes only stored responses (RFC 9111 §5.2.1.7).
  'not-cached': clientFailure(504, 'the client takes only what is stored, and nothing is', 'ask without'),
  // After a relayed head, the client's connection is cut, and 502 is only in the log.
  truncated: upstreamFailure(502, 'never', 'the answer of the endpoint broke off', mayBeProcessed),
  // Only in the log.
  'client-gone': clientFailure(499, 'the client left before its answer was complete', 'let the client wait for longer'),
  internal: gatewayFailure(500, 'the gateway itself failed: the log says where', 'report it, with the `requestId`'),
} as const satisfies Record<string, FailureRow>

/** `code` in a response, `failure` in the log. */
export type FailureKind = keyof typeof failureTable

/** In the order of the table. */
export const allFailureKinds = Object.keys(failureTable) as readonly FailureKind[]

/** A late upstream may only show as a missed deadline. */
export const mayBeUpstreamFault = (kind: FailureKind): boolean =>
  failureTable[kind].fault === 'upstream' || kind === 'deadline-exceeded'

/** As in the IANA registry: Node has older names for some. */
export const reasonPhrase = (status: number): string => phrases[status] ?? STATUS_CODES[status] ?? 'Error'

const phrases: Readonly<Record<number, string>> = { 413: 'Content Too Large', 422: 'Unprocessable Content' }
