import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { Alarm } from '../clock.ts'
import { runningOn } from './connection.ts'
import { ownResponse } from './http1-response.ts'

// Every answer begins so, whatever the client's version. After each look the wait doubles.
const beginning = 'HTTP/1.1 '
const firstWaitMs = 125
const lastWaitMs = 16_000

/**
 * Has an HTTP server leave open the connection of a client that has ended its side, until the responses due have gone out. The property is not
 * documented. Seen on Node 24.21.
 */
export const allowHalfOpen = (server: Server): void => void Object.assign(server, { httpAllowHalfOpen: true })

/**
 * Finds out whether a client that has ended its side (FIN, or close_notify) after its request still reads. TCP says the same of one that
 * has sent all and waits, and of one that has closed. But the system of one that has closed answers what is written with a reset, and the
 * next write fails, which aborts the exchange. So the beginning of the answer goes out ahead, byte by byte. Once the head is out, an empty
 * write asks the same of what has been written of the answer: nothing else does while it pauses, for Node reads no more after the end.
 */
export const probe = (socket: Socket): void => {
  const visit = runningOn(socket)[0]
  if (visit === undefined || !visit.request.complete) return
  const response = ownResponse(visit.response)
  let waitMs = firstWaitMs
  const look = (): void => {
    const isAhead = !response.headersSent && response.ahead < beginning.length
    socket.write(isAhead ? beginning.charAt(response.ahead++) : '')
    next.set(waitMs)
    waitMs = Math.min(2 * waitMs, lastWaitMs)
  }
  const next = new Alarm(look)
  response.once('close', () => next.clear())
  look()
}
