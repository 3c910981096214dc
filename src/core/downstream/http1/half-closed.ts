import type { Socket } from 'node:net'
import { CoalescedTimer } from '../../lib/clock.ts'
import type { Http1Response } from './http1-response.ts'

// Every response begins so. After each probe the wait doubles.
const statusLinePrefix = 'HTTP/1.1 '
const firstWaitMs = 125
const maxWaitMs = 16_000

/**
 * Finds out whether a client that has ended its side has closed or still reads (decision 040): the response starts
 * early, byte by byte. The system of a closed client replies with a reset, so the next write fails and aborts the
 * exchange.
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
