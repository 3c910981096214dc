import type { Socket } from 'node:net'
import { CoalescedTimer } from '../../lib/clock.ts'
import type { Http1Response } from './http1-response.ts'

// Every response begins so, whatever the client's version. After each probe the wait doubles.
const statusLinePrefix = 'HTTP/1.1 '
const firstWaitMs = 125
const maxWaitMs = 16_000

/**
 * A client that has ended its side may still read, or may have closed. The system of a closed client replies to a write
 * with a reset, so the response starts early, byte by byte: the next write fails and aborts the exchange. Empty writes
 * then go on testing (decision 040).
 */
export const probeHalfClosed = (socket: Socket, response: Http1Response): void => {
  let waitMs = firstWaitMs
  const probe = (): void => {
    const isAhead = !response.headersSent && response.charsSentAhead < statusLinePrefix.length
    socket.write(isAhead ? statusLinePrefix.charAt(response.charsSentAhead++) : '')
    timer.set(waitMs)
    waitMs = Math.min(2 * waitMs, maxWaitMs)
  }
  const timer = new CoalescedTimer(probe)
  response.on('close', () => timer.clear())
  probe()
}
