import { STATUS_CODES } from '../node-http.ts'

/** Says whose fault a failure is: the client that called, the upstream that answered, or the gateway itself. */
type Fault = 'client' | 'gateway' | 'upstream'

/**
 * Says whether another attempt is allowed: `always` when nothing was sent, `replayable` when the operation is safe or keyed and the
 * request body can be sent again, else `never`.
 */
type Retry = 'always' | 'replayable' | 'never'

interface Failure {
  readonly status: number
  readonly fault: Fault
  readonly retry: Retry
  /** What happened, for operators: what a reason does not say better. Without a full stop. */
  readonly text: string
  /** What to do about it, as the documentation has it. */
  readonly remedy: string
}

const client = (status: number, text: string, remedy: string): Failure => ({
  status,
  fault: 'client',
  retry: 'never',
  text,
  remedy,
})
const gateway = (status: number, text: string, remedy: string): Failure => ({
  ...client(status, text, remedy),
  fault: 'gateway',
})
const upstream = (status: number, retry: Retry, text: string, remedy: string): Failure => ({
  ...client(status, text, remedy),
  fault: 'upstream',
  retry,
})

const lookAtUpstream = 'the operator looks at the upstream'
const mayBeProcessed = `${lookAtUpstream}; the request may have been processed`

/**
 * Every way to fail. This table alone decides the status, whose fault it is, whether another attempt is allowed, and what people are told of it. A client
 * learns the status, and the kind as `code`.
 */
export const failures = {
  'bad-request': client(400, 'the request is malformed', 'mend the request'),
  'not-found': client(
    404,
    'the path is none of the nine',
    'compare with the nine: case, encoding, trailing slash, `basePath`',
  ),
  'method-not-allowed': client(405, 'the operation takes another method', 'see `Allow`'),
  'unsupported-coding': client(501, 'the body is coded in a way that the gateway does not read', 'use `chunked` alone'),
  'unsupported-version': client(
    505,
    'the version of HTTP is none that the gateway speaks',
    'use 1.1, or HTTP/2 over TLS',
  ),
  misdirected: client(421, 'Host names none of listen.hosts', "use the gateway's own name"),
  unauthenticated: client(401, 'the client did not prove who it is', 'send a credential that is good'),
  forbidden: client(403, 'the client may not do this', 'the operator looks at its entry under `clients`'),
  'content-too-large': client(413, 'the body is larger than maxBody', 'send less'),
  'header-too-large': client(431, 'the header fields are larger than listen.maxHeaders', 'send fewer'),
  'uri-too-long': client(414, 'the target is longer than listen.maxTarget', 'shorten the query'),
  'request-timeout': client(408, 'the request came too slowly', 'send faster'),
  'expectation-failed': client(417, 'Expect asks for something other than 100-continue', 'leave it out'),
  'rate-limited': client(
    429,
    'the client asks too often',
    'wait as `Retry-After` says; see `RateLimit` before it comes to that',
  ),
  overloaded: gateway(
    503,
    'there is no room for more',
    'wait as `Retry-After` says; the operator looks at `limits` in `/status`, and why the endpoints are slow',
  ),
  'refused-by-operator': gateway(
    503,
    'the operation is taken out of service, by the file or by an operator',
    'wait; ask the operator',
  ),
  'identity-unavailable': gateway(
    503,
    'who knows whether the credential is good cannot be asked',
    'wait as `Retry-After` says; the operator looks at the log',
  ),
  'audit-unavailable': gateway(
    503,
    'the audit log cannot be written, and audit.onFailure is refuse',
    'wait; the operator looks at `audit` in `/status`: a full disk?',
  ),
  loop: gateway(
    508,
    'the request has been through this gateway already',
    'an upstream points back here: mend the configuration',
  ),
  'no-healthy-endpoint': upstream(
    503,
    'never',
    'no endpoint of the group takes work',
    'wait; the operator makes one ready',
  ),
  'circuit-open': upstream(503, 'never', 'the circuit breaker of the group is open', 'wait as `Retry-After` says'),
  'connect-failed': upstream(502, 'always', 'the endpoint could not be connected to', lookAtUpstream),
  'connect-timeout': upstream(504, 'always', 'connecting took longer than timeouts.connect', lookAtUpstream),
  'tls-failed': upstream(502, 'always', 'no TLS connection to the endpoint came about', lookAtUpstream),
  'reset-before-headers': upstream(
    502,
    'replayable',
    'the endpoint closed the connection before it answered',
    mayBeProcessed,
  ),
  'headers-timeout': upstream(504, 'replayable', 'the endpoint did not answer within timeouts.headers', mayBeProcessed),
  'bad-answer': upstream(502, 'replayable', 'the answer of the endpoint is malformed', mayBeProcessed),
  'deadline-exceeded': gateway(504, 'there was no answer within the deadline of the operation', mayBeProcessed),
  // The client takes only what is stored, and nothing is (RFC 9111 §5.2.1.7).
  'not-cached': client(504, 'the client takes only what is stored, and nothing is', 'ask without'),
  // The head was relayed with another status: the client's connection is cut, and this one stands in the log only.
  truncated: upstream(502, 'never', 'the answer of the endpoint broke off', mayBeProcessed),
  // In the log only: there is nobody left to answer.
  'client-gone': client(499, 'the client left before its answer was complete', 'let the client wait for longer'),
  internal: gateway(500, 'the gateway itself failed: the log says where', 'report it, with the `requestId`'),
} as const satisfies Record<string, Failure>

/** Names one way to fail, as `code` in an answer and `failure` in the log. */
export type Kind = keyof typeof failures

/** Every kind, in the order of the table. */
export const kinds = Object.keys(failures) as readonly Kind[]

/** Names a status as the registry does; Node's table keeps older names for some. */
export const phraseOf = (status: number): string => phrases[status] ?? STATUS_CODES[status] ?? 'Error'

const phrases: Readonly<Record<number, string>> = { 413: 'Content Too Large', 422: 'Unprocessable Content' }
