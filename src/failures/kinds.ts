import { STATUS_CODES } from '../node-http.ts'

/** Says whose fault a failure is: the client that called, the upstream that answered, or the gateway itself. */
type Fault = 'client' | 'gateway' | 'upstream'

/**
 * Says whether another attempt is allowed: `always` when nothing was sent, `replayable` when the operation is safe or keyed and the
 * request body can be sent again, else `never`.
 */
export type Retry = 'always' | 'replayable' | 'never'

interface Failure {
  readonly status: number
  readonly fault: Fault
  readonly retry: Retry
}

const client = (status: number): Failure => ({ status, fault: 'client', retry: 'never' })
const gateway = (status: number): Failure => ({ status, fault: 'gateway', retry: 'never' })
const upstream = (status: number, retry: Retry): Failure => ({ status, fault: 'upstream', retry })

/** Lists every way to fail. This table alone decides the status, whose fault it is, and whether another attempt is allowed. */
export const failures = {
  'bad-request': client(400),
  'not-found': client(404),
  'method-not-allowed': client(405),
  'unsupported-coding': client(501),
  'unsupported-version': client(505),
  misdirected: client(421),
  unauthenticated: client(401),
  forbidden: client(403),
  'content-too-large': client(413),
  'header-too-large': client(431),
  'uri-too-long': client(414),
  'request-timeout': client(408),
  'expectation-failed': client(417),
  'rate-limited': client(429),
  overloaded: gateway(503),
  'refused-by-operator': gateway(503),
  'identity-unavailable': gateway(503),
  'audit-unavailable': gateway(503),
  loop: gateway(508),
  'no-healthy-endpoint': upstream(503, 'never'),
  'circuit-open': upstream(503, 'never'),
  'connect-failed': upstream(502, 'always'),
  'connect-timeout': upstream(504, 'always'),
  'tls-failed': upstream(502, 'always'),
  'reset-before-headers': upstream(502, 'replayable'),
  'headers-timeout': upstream(504, 'replayable'),
  'bad-answer': upstream(502, 'replayable'),
  'deadline-exceeded': gateway(504),
  // The client takes only what is stored, and nothing is (RFC 9111 §5.2.1.7).
  'not-cached': client(504),
  // The head was relayed with another status: the client's connection is cut, and this one stands in the log only.
  truncated: upstream(502, 'never'),
  // In the log only: there is nobody left to answer.
  'client-gone': client(499),
  internal: gateway(500),
} as const satisfies Record<string, Failure>

/** Names one way to fail, as `code` in an answer and `failure` in the log. */
export type Kind = keyof typeof failures

/** Names a status as the registry does; Node's table keeps older names for some. */
export const phraseOf = (status: number): string => phrases[status] ?? STATUS_CODES[status] ?? 'Error'

const phrases: Readonly<Record<number, string>> = { 413: 'Content Too Large', 422: 'Unprocessable Content' }
