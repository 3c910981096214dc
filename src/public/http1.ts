import type { Refused } from './admit.ts'
import type { Arrival } from './arrival.ts'
import type { Http1Response } from './http1-response.ts'
import { lingerOnClose, patienceAfter } from './linger.ts'
import type { ClientResponse, Wire } from './wire.ts'

const unsupported: Refused = { kind: 'unsupported-version', reason: null, fields: [] }

/** Writes to clients of HTTP/1.0 and 1.1: a connection carries one answer at a time, and ends with one that breaks off. */
export const http1: Wire = {
  multiplexed: false,

  flaw({ httpVersion }) {
    return httpVersion === '1.1' || httpVersion === '1.0' ? null : unsupported
  },

  writeHead(response, status, reason, fields) {
    ownResponse(response).writeFields(status, reason, fields)
  },

  writeInterim(response, status, fields) {
    // Node keeps what a client does not take, and nothing holds the upstream back. Interim answers are hints: the excess is left out.
    if (response.writableLength < ownResponse(response).writableHighWaterMark)
      ownResponse(response).writeInformation(status, fields)
  },

  last({ request, response, failure }, unread) {
    ownResponse(response).isLast = true
    if (unread) lingerOnClose(request as Arrival, patienceAfter(failure))
  },

  hasTurn(response) {
    return ownResponse(response).socket !== null
  },

  isTaken(response) {
    // Nearly always the system has taken all of it at once.
    const { socket } = ownResponse(response)
    return socket === null || socket.writableLength === 0
  },

  cut({ request, peer }) {
    const { socket } = request
    socket.uncork() // what has come before goes out: Node gathers the writes of one turn
    // Node resets no TLS connection; there, a close without close_notify says the same (RFC 8446 §6.1).
    if (peer.secure) socket.destroy()
    else socket.resetAndDestroy()
  },
}

/** Names the class of a response: on this wire there is no other. */
export const ownResponse = (response: ClientResponse): Http1Response => response as Http1Response
