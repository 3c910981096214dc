import type { FailureKind } from './failure-table.ts'

export type AuthMethod = 'apiKey' | 'jwt' | 'introspection' | 'mtls'

export interface ReasonRow<K extends FailureKind> {
  readonly kinds: readonly K[]
  readonly text: string
  /** For searches. */
  readonly code: string | null
  readonly methods: readonly AuthMethod[]
}

const rowsFor =
  <const K extends FailureKind>(kinds: readonly [K, ...K[]], methods: readonly AuthMethod[] = []) =>
  (text: string, code: string | null = null): ReasonRow<K> => ({ kinds, text, code, methods })

const badRequest = rowsFor(['bad-request'])
const headerTooLarge = rowsFor(['header-too-large'])
const requestTimeout = rowsFor(['request-timeout'])
const clientGone = rowsFor(['client-gone'])
const contentTooLarge = rowsFor(['content-too-large'])
const invalidRequest = rowsFor(['invalid-request'])
const invalidResponse = rowsFor(['invalid-response'])
const overloaded = rowsFor(['overloaded'])
const rateLimited = rowsFor(['rate-limited'])
const byKey = rowsFor(['unauthenticated'], ['apiKey'])
const byIntrospection = rowsFor(['unauthenticated'], ['introspection'])
const byJwt = rowsFor(['unauthenticated'], ['jwt'])
const byToken = rowsFor(['unauthenticated'], ['jwt', 'introspection'])
const byCertificate = rowsFor(['unauthenticated'], ['mtls', 'jwt', 'introspection']) // a token may be bound to one
const forbiddenToken = rowsFor(['forbidden'], ['jwt', 'introspection'])
const forbidden = rowsFor(['forbidden'], ['apiKey', 'jwt', 'introspection', 'mtls'])
const byMtls = rowsFor(['unauthenticated'], ['mtls'])
const proofUnavailable = rowsFor(['identity-unavailable'], ['jwt', 'introspection'])
const introspectionUnavailable = rowsFor(['identity-unavailable'], ['introspection'])
const rejectedByOperator = rowsFor(['rejected-by-operator'])
const circuitOpen = rowsFor(['circuit-open'])
const connectionLost = rowsFor(['connect-failed', 'tls-failed', 'reset-before-headers', 'truncated'])
const connectTimeout = rowsFor(['connect-timeout', 'connect-failed', 'tls-failed', 'reset-before-headers', 'truncated'])
const badResponse = rowsFor(['bad-response', 'truncated', 'connect-failed'])

/**
 * Why an exchange fails, if its kind leaves that open. No reason holds data of a client or an upstream, so metrics,
 * traces and operators' pages may show it. Documented in this order.
 */
export const reasonRows = {
  'bad-target': badRequest('the request target is malformed'),
  'bad-host': badRequest('Host is missing, malformed, or there are several'),
  'bad-length': badRequest('Content-Length is malformed, repeated, or contradicts the body'),
  'bad-transfer-coding': badRequest(
    'Transfer-Encoding does not end in chunked, or comes with Content-Length or HTTP/1.0',
  ),
  'bad-chunk': badRequest('a chunk of the body is malformed'),
  'bad-method': badRequest('the method is not an HTTP method'),
  'bad-version': badRequest('the version of HTTP is malformed'),
  'bad-field': badRequest('a header field is malformed'),
  'bad-line-end': badRequest('a line of the head does not end in CR LF'),
  'bad-pseudo-field': badRequest('over HTTP/2, :scheme is not https, or :method is not an HTTP method'),
  'cut-short': badRequest('the connection ended in the middle of a request'),
  'plain-http': badRequest('plain HTTP came to a port that speaks TLS'),
  'tls-on-plain-port': badRequest('TLS came to a port that speaks plain HTTP'),
  'proxy-header': badRequest(
    'a PROXY protocol header came from an address that is not under listen.proxyProtocol.from',
  ),
  'no-proxy-header': badRequest('no PROXY protocol header came from an address under listen.proxyProtocol.from'),
  'bad-proxy-header': badRequest('a PROXY protocol header is malformed, or cut short'),
  'forwarded-contradiction': badRequest('Forwarded and X-Forwarded-* contradict each other about the client'),
  'bad-frames': badRequest('the client broke the protocol of HTTP/2'),
  'broken-stream': rowsFor(['bad-request', 'client-gone'])('a request broke the protocol of HTTP/2, and was reset'),
  'too-many-frames': badRequest('the client sends too many HTTP/2 frames that advance no request'),
  'too-many-resets': badRequest('the client cancels too many requests of HTTP/2 (RST_STREAM)'),
  'too-many-broken-streams': badRequest('too many requests break the protocol of HTTP/2'),
  'too-many-rejected-heads': badRequest(
    'too many heads of HTTP/2 are malformed, late, or beyond the limit of open streams',
  ),
  'too-many-pings': badRequest('the client sends too many PING frames of HTTP/2'),
  'too-many-settings': badRequest('the client sends too many SETTINGS frames of HTTP/2'),
  'too-many-continuations': badRequest('a head of HTTP/2 has too many CONTINUATION frames, or is too large'),
  'too-many-table-sizes': badRequest('the client changes the size of the HPACK table too often'),
  'too-many-empty-frames': badRequest('the client sends too many empty DATA frames of HTTP/2'),
  'too-many-window-updates': badRequest('the client sends too many small WINDOW_UPDATE frames of HTTP/2'),
  'too-many-priorities': badRequest('the client sends too many PRIORITY frames of HTTP/2'),
  'too-many-ignored-frames': badRequest('too many frames of HTTP/2 are unknown, or come too late'),
  'unread-replies': badRequest('the client sends HTTP/2 frames that need replies, and reads none of them'),
  'get-content': badRequest('a GET has content'),
  'too-many-fields': headerTooLarge('there are more header fields than listen.maxHeaderFields'),
  'fields-too-large': headerTooLarge('the header fields are larger than listen.maxHeaders'),
  'several-credentials': badRequest('the request has a credential twice'),
  'bad-credential': badRequest('the Authorization field holds no credential'),
  'token-in-query': badRequest('there is a token in the query'),
  'bad-client-cert': badRequest('Client-Cert holds no certificate'),

  'proxy-header-too-slow': requestTimeout('the PROXY protocol header did not come within listen.timeouts.headers'),
  'head-too-slow': requestTimeout('the head did not come within listen.timeouts.headers'),
  'body-stalled': requestTimeout('the body paused for longer than listen.timeouts.body'),
  'body-too-slow': requestTimeout('the body came slower than listen.minRate'),
  'takes-nothing': clientGone('the client read nothing of its response for listen.timeouts.body'),
  'takes-too-slowly': clientGone('the client read its response slower than listen.minRate'),
  'no-client-waits': clientGone('all clients that waited for the response have left'),
  'shutdown-deadline': clientGone('the gateway stopped, and cut the request off at shutdown.deadline'),

  'body-too-large-declared': contentTooLarge('Content-Length is larger than maxBody'),
  'body-too-large-streamed': contentTooLarge('the body, sent without Content-Length, is larger than maxBody'),
  'contract-body-too-large': contentTooLarge('the body is too large to be checked against the contract'),

  'contract-parameters': invalidRequest('the query or a header field breaks the contract'),
  'contract-body': invalidRequest('the body breaks the contract'),

  'event-loop': overloaded('the event loop is later than limits.eventLoopDelay'),
  'limits-concurrency': overloaded('limits.concurrency is reached'),
  'upstream-concurrency': overloaded('the concurrency limit of the group is reached'),
  'operation-concurrency': overloaded('the concurrency limit of the operation is reached'),
  'endpoint-connections': overloaded('all places of the endpoints are taken (maxConnections, maxPending)'),
  'endpoint-share': overloaded('the client holds its share of the places of the endpoint (maxConnections, maxPending)'),
  'buffered-bodies': overloaded('too many bodies wait in memory'),
  'address-rate': rateLimited('the address sends more requests than limits.address allows'),
  'client-rate': rateLimited('the client sends more requests than its rate allows'),
  'client-keys': rateLimited(
    'the client has all idempotency keys that idempotency.maxKeysPerClient or the room in idempotency.maxEntries allows',
  ),
  'client-concurrency': rateLimited('the concurrency limit of the client is reached'),

  'no-credential': rowsFor(['unauthenticated'])('there is no credential'),
  'unknown-key': byKey('there is no such API key'),
  'wrong-secret': byKey('the secret of the API key is wrong'),
  'other-token-flaw': byToken('the token is malformed, too long, or incomplete'),
  'token-type': byJwt('the type or the algorithm of the token is not allowed'),
  'bad-signature': byJwt('the signature of the token is wrong'),
  'unknown-kid': byJwt('no known key of the issuer fits the token'),
  'not-active': byIntrospection('the authorization server says that the token is not active'),
  expired: byToken('the token has expired'),
  'not-yet-valid': byToken('the token is not valid yet'),
  'wrong-audience': byToken('the token is for another audience'),
  'wrong-issuer': byToken('the token is of another issuer'),
  'unbound-token': byToken('the token is bound to no certificate or key'),
  'wrong-binding': byToken('the token is bound to another certificate or key, or in an unknown way'),
  'bad-proof': byToken('the DPoP proof of the token is missing or invalid'),
  'replayed-proof': byToken('the DPoP proof of the token was used before'),
  'missing-scope': forbiddenToken('the token lacks a scope'),
  'missing-claim': forbiddenToken('the token lacks a required claim'),
  'no-certificate': byCertificate('the client has shown no certificate'),
  'certificate-not-valid-now': byCertificate('the certificate of the client is not valid now'),
  'certificate-not-for-clients': byCertificate('the certificate of the client is not for clients'),
  'certificate-authority': byCertificate('the certificate of the client is of an unknown authority'),
  'ambiguous-certificate': byMtls('the certificate of the client matches several clients'),
  'unknown-client': forbidden('the credential is valid, but belongs to no client'),
  'client-disabled': forbidden('the client is disabled'),
  'wrong-address': forbidden('the client may not connect from this address'),
  'wrong-operation': forbidden('the client may not call this operation'),

  'issuer-keys': rowsFor(['identity-unavailable'], ['jwt'])('the issuer’s keys cannot be fetched'),
  'introspection-server': introspectionUnavailable('tokens cannot be introspected (auth.introspection)'),
  'introspection-busy': introspectionUnavailable('too many tokens wait for introspection'),
  'proof-memory': proofUnavailable('the replay cache did not say whether the proof was used before'),

  'state-reject': rejectedByOperator('the configuration says state: reject'),
  'kill-switch': rejectedByOperator('an operator has taken the operation out of service for a while'),

  'all-draining': rowsFor(['no-healthy-endpoint'])('every endpoint drains, or has weight 0'),
  'breaker-open': circuitOpen('the circuit breaker is open'),
  'breaker-proving': circuitOpen('the circuit breaker is half-open, and its probes are under way'),

  refused: connectionLost('the endpoint refuses connections', 'ECONNREFUSED'),
  reset: connectionLost('the endpoint reset the connection', 'ECONNRESET'),
  closed: connectionLost('the endpoint closed the connection'),
  unreachable: connectionLost('there is no route to the endpoint', 'EHOSTUNREACH'),
  'not-connected-in-time': connectTimeout('the endpoint accepts no connection in time'),
  'name-not-found': connectionLost('the name of the endpoint does not resolve', 'ENOTFOUND'),
  'name-server-silent': connectTimeout('the name server does not reply', 'EAI_AGAIN'),
  'no-descriptors': connectionLost('the gateway has no file descriptor left', 'EMFILE'),
  'no-ports': connectionLost('the gateway has no local port left'),
  'other-connect-failure': rowsFor(['connect-failed'])('no connection to the endpoint could be made'),
  'certificate-expired': connectionLost('the certificate of the endpoint has expired', 'CERT_HAS_EXPIRED'),
  'certificate-not-yet-valid': connectionLost('the certificate of the endpoint is not valid yet'),
  'certificate-name': connectionLost('the certificate of the endpoint is for another name'),
  'certificate-untrusted': connectionLost('the certificate of the endpoint is of an unknown authority'),
  'certificate-revoked': connectionLost('the certificate of the endpoint is revoked'),
  'certificate-flawed': connectionLost('the certificate of the endpoint does not verify'),
  'no-tls': connectionLost('the endpoint speaks no TLS'),
  'no-tls-in-time': rowsFor(['connect-timeout'])('the endpoint accepts connections, and no TLS in time'),
  'tls-version': connectionLost('the endpoint speaks no version of TLS that is allowed'),
  'asks-for-certificate': connectionLost('the endpoint asks for a client certificate (tls.certificate)'),
  'rejects-certificate': connectionLost('the endpoint rejects the client certificate'),
  'tls-handshake': connectionLost('the endpoint breaks off the TLS handshake'),
  'response-stalled': rowsFor(['truncated'])('the endpoint paused within its response for longer than timeouts.body'),
  'not-http': badResponse('the endpoint sent a response that is not HTTP'),
  'response-fields-too-large': badResponse('the response has too many header fields, or too large ones'),
  'response-length': badResponse(
    'the length of the response is not a number, contradicts its transfer coding, or differs from the size of the body',
  ),
  'response-coding': badResponse('the response has a transfer coding other than chunked'),
  'response-status': badResponse('the response has a status below 100, or switches protocols unasked'),
  'response-field': rowsFor(['bad-response'])('a header field of the response cannot be passed on'),
  'contract-upstream-error': invalidResponse('the upstream failed (5xx), and the contract does not have the status'),
  'contract-response-head': invalidResponse(
    'the status, a header field or the media type of the response breaks the contract',
  ),
  'contract-response-body': invalidResponse('the body of the response breaks the contract'),
} as const satisfies Record<string, ReasonRow<FailureKind>>
