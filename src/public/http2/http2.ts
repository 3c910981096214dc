import { METHODS } from 'node:http'
import type { Refused } from '../admit.ts'
import { patienceAfter } from '../linger.ts'
import type { ClientRequest, ClientResponse, Wire } from '../wire.ts'
import type { StreamRequest } from './request.ts'
import type { StreamResponse } from './response.ts'

const connect: Refused = { kind: 'method-not-allowed', reason: null, fields: ['Allow', 'GET, POST'] }
const otherwise: Refused = { kind: 'bad-request', reason: 'bad-pseudo-field', fields: [] }
// Those that the parser of HTTP/1 knows: one that is refused there is refused here, and not told what it may be instead.
const methods: ReadonlySet<string | undefined> = new Set(METHODS)

/** Tells whether HTTP/1 knows a method. */
export const isMethod = (method: string | undefined): boolean => methods.has(method)

/** Writes to clients of HTTP/2: a connection carries many answers, and one that breaks off ends its own stream alone. */
export const http2: Wire = {
  multiplexed: true,

  flaw(request) {
    const { method = '', scheme } = asked(request)
    // RFC 9113 §8.5: it has neither scheme nor path. The extended one is never offered (RFC 8441).
    if (method === 'CONNECT') return connect
    return scheme === 'https' && isMethod(method) ? null : otherwise // only TLS carries it
  },

  writeHead(response, status, _reason, fields) {
    answering(response).writeHead(status, fields) // RFC 9113 §8.3.2: there is no reason phrase
  },

  writeInterim(response, status, fields) {
    answering(response).writeInterim(status, fields)
  },

  last({ request, response, draining, failure }) {
    answering(response).patience = patienceAfter(failure)
    // The stream ends with its answer in any case. GOAWAY says of the connection what `Connection: close` does on HTTP/1.
    if (draining()) asked(request).stream.session?.close()
  },

  hasTurn() {
    return true
  },

  isTaken(response) {
    return answering(response).stream.writableFinished
  },

  cut({ request }) {
    // Not `close`, whatever the code: that ends the stream first, and what there is of the answer looks whole.
    asked(request).stream.destroy(new Error('cut off'))
  },
}

const asked = (request: ClientRequest): StreamRequest => request as StreamRequest

const answering = (response: ClientResponse): StreamResponse => response as StreamResponse
