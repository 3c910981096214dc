/**
 * Lists why an exchange fails where its kind does not tell, in words. Bounded: each is written here and nowhere else, and none is made of what a client or
 * an upstream says, so that it may stand in a metric, a trace and on an operator's page.
 */
const texts = {
  // What no request can be read from, or none that is meant.
  'bad-target': 'the request target is malformed',
  'bad-host': 'Host is missing, malformed, or there are several',
  'bad-length': 'Content-Length is no length, or contradicts the body',
  'bad-transfer-coding': 'the transfer coding is not chunked, not the last, or beside a Content-Length',
  'bad-chunk': 'a chunk of the body is malformed',
  'bad-method': 'the method is none that HTTP has',
  'bad-version': 'the version of HTTP is malformed',
  'bad-field': 'a header field is malformed',
  'bad-line-end': 'a line of the head ends in what ends no line',
  'bad-pseudo-field': 'the scheme or the method is none that HTTP/2 carries here',
  'cut-short': 'the connection ended in the middle of a request',
  'plain-http': 'plain HTTP came to a port that speaks TLS',
  'tls-on-plain-port': 'TLS came to a port that speaks plain HTTP',
  'proxy-header': 'a PROXY protocol header came, and the gateway takes none',
  'bad-syntax': 'what came is no request of HTTP/1',
  'bad-frames': 'the connection broke the protocol of HTTP/2',
  'too-many-frames': 'too many frames of HTTP/2 ask for nothing',
  'too-many-broken-streams': 'too many requests break the protocol of HTTP/2',
  'too-many-fields': 'there are more header fields than listen.maxHeaderFields',
  'fields-too-large': 'the header fields are larger than listen.maxHeaders',
  'several-credentials': 'a credential is there twice',
  'bad-credential': 'the Authorization field holds no credential',
  'token-in-query': 'there is a token in the query',
  'bad-client-cert': 'Client-Cert holds no certificate',

  // What comes too slowly, or is not taken.
  'head-too-slow': 'the head did not come within listen.timeouts.headers',
  'body-stalled': 'the body paused for longer than listen.timeouts.body',
  'body-too-slow': 'the body came slower than listen.minRate',
  'takes-nothing': 'the client took nothing of its answer for listen.timeouts.body',
  'takes-too-slowly': 'the client took its answer slower than listen.minRate',
  'nobody-waits': 'nobody waited for the answer any more',

  // What is too large.
  'body-too-large-declared': 'the body says that it is larger than maxBody',
  'body-too-large-streamed': 'the body, whose length was not said, is larger than maxBody',

  // Which bound is full, and which rate is used up.
  'event-loop': 'the event loop is later than limits.eventLoopDelay',
  'limits-concurrency': 'limits.concurrency is full',
  'upstream-concurrency': 'the concurrency of the group is full',
  'operation-concurrency': 'the concurrency of the operation is full',
  'endpoint-connections': 'all places of the endpoints are taken (maxConnections, maxPending)',
  'client-concurrency': 'the concurrency of the client is full',
  'address-rate': 'the address asks more often than limits.address',
  'client-rate': 'the client asks more often than its rate',

  // Why a credential is refused.
  'no-credential': 'there is no credential',
  'unknown-key': 'there is no such API key',
  'wrong-secret': 'the secret of the API key is wrong',
  'other-token-flaw': 'the token is not of the form that is asked for',
  'token-type': 'the type or the algorithm of the token is not allowed',
  'wrong-issuer': 'the token is of another issuer',
  'wrong-audience': 'the token is for another audience',
  expired: 'the token has expired',
  'not-yet-valid': 'the token is not valid yet',
  'bad-signature': 'the signature of the token is wrong',
  'unknown-kid': 'no key of the issuer is known for the token',
  'not-active': 'the authorization server says that the token is not active',
  'unbound-token': 'the token is bound to nothing',
  'wrong-binding': 'the token is bound to another certificate or key, or to what is not known here',
  'bad-proof': 'the proof beside the token is missing, or not good',
  'replayed-proof': 'the proof beside the token has come before',
  'no-certificate': 'the client has shown no certificate',
  'certificate-not-valid-now': 'the certificate of the client is not valid now',
  'certificate-not-for-clients': 'the certificate of the client is not for clients',
  'certificate-authority': 'the certificate of the client is of an unknown authority',
  'ambiguous-certificate': 'the certificate of the client is of several clients',
  'unknown-client': 'the credential is good, and belongs to no client',
  'client-disabled': 'the client is disabled',
  'wrong-address': 'the client may not come from this address',
  'wrong-operation': 'the client may not call this operation',
  'missing-scope': 'the token lacks a scope',
  'missing-claim': 'the token does not say what it must',

  // Whom the gateway cannot ask.
  'issuer-keys': 'the keys of the issuer cannot be had',
  'introspection-server': 'the authorization server cannot be asked about tokens',
  'introspection-busy': 'too many tokens are being asked about',
  'proof-memory': 'nobody can tell whether the proof has come before',

  // What an operator decided.
  'state-refuse': 'the file says state: refuse',
  'kill-switch': 'an operator has refused the operation for a while',

  // Why an upstream is not asked.
  'all-draining': 'every endpoint drains, or has weight 0',
  'breaker-open': 'the circuit breaker is open',
  'breaker-proving': 'the circuit breaker is half-open, and its probes are under way',

  // Why an upstream could not be reached, or broke off.
  refused: 'the endpoint refuses connections',
  reset: 'the endpoint reset the connection',
  closed: 'the endpoint closed the connection',
  unreachable: 'there is no route to the endpoint',
  'not-connected-in-time': 'the endpoint accepts no connection in time',
  'no-tls-in-time': 'the endpoint accepts connections, and no TLS in time',
  'name-not-found': 'the name of the endpoint does not resolve',
  'name-server-silent': 'the name server does not answer',
  'no-descriptors': 'the gateway has no file descriptor left',
  'no-ports': 'the gateway has no local port left',
  'other-connect-failure': 'no connection to the endpoint could be made',
  'certificate-expired': 'the certificate of the endpoint has expired',
  'certificate-not-yet-valid': 'the certificate of the endpoint is not valid yet',
  'certificate-name': 'the certificate of the endpoint is for another name',
  'certificate-untrusted': 'the certificate of the endpoint is of an unknown authority',
  'certificate-revoked': 'the certificate of the endpoint is revoked',
  'certificate-flawed': 'the certificate of the endpoint does not verify',
  'no-tls': 'the endpoint speaks no TLS',
  'tls-version': 'the endpoint speaks no version of TLS that is allowed',
  'asks-for-certificate': 'the endpoint asks for a client certificate (tls.certificate)',
  'refuses-certificate': 'the endpoint refuses the client certificate',
  'tls-handshake': 'the endpoint breaks off the TLS handshake',
  'answer-stalled': 'the endpoint paused in its answer for longer than timeouts.body',
  'not-http': 'the endpoint answers with what is not HTTP',
  'answer-fields-too-large': 'the header fields of the answer are too large, or too many',
  'answer-length': 'the length of the answer is no length, contradicts its coding, or is not how long it is',
  'answer-coding': 'the answer has a transfer coding other than chunked',
  'answer-status': 'the answer has a status that was not asked for',
  'answer-field': 'a header field of the answer cannot be passed on',
} as const

/** Names one of them, as `reason` in the log. */
export type Reason = keyof typeof texts

/** Lists all of them. */
export const reasons = Object.keys(texts) as readonly Reason[]

// As people look for them.
const codes: Partial<Readonly<Record<Reason, string>>> = {
  refused: 'ECONNREFUSED',
  reset: 'ECONNRESET',
  unreachable: 'EHOSTUNREACH',
  'name-not-found': 'ENOTFOUND',
  'name-server-silent': 'EAI_AGAIN',
  'certificate-expired': 'CERT_HAS_EXPIRED',
  'no-descriptors': 'EMFILE',
}

/** Names the code by which people look for a reason; null: it has none. */
export const reasonCode = (reason: Reason): string | null => codes[reason] ?? null

/** Says one in words, with its code, without a full stop. */
export const reasonText = (reason: Reason): string => {
  const code = reasonCode(reason)
  return code === null ? texts[reason] : `${texts[reason]} (${code})`
}
