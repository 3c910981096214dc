import type { Socket } from 'node:net'
import { CoalescedTimer } from '../../lib/clock.ts'
import type { Http1Response } from './http1-response.ts'

// Every response begins so, whatever the client's version. After each probe the wait doubles.
const statusLinePrefix = 'HTTP/1.1 '
const firstWaitMs = 125
const maxWaitMs = 16_000

/**
 * Finds out whether a client that has ended its side (FIN, or close_notify) after its request still reads. TCP shows no
 * difference between a client that has sent all and waits, and one that has closed. But the system of a client that has
 * closed replies to a write with a reset, and the next write fails, which aborts the exchange. So the beginning of the
 * response goes out ahead, byte by byte. Once the head is out, an empty write tests whether what was written of the
 * response is accepted: nothing else does while it pauses, for nothing is read after the end.
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
