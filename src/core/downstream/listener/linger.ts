import type { Socket } from 'node:net'
import type { GatewayError } from '../../exchange/failures/errors.ts'
import { CoalescedTimer } from '../../lib/clock.ts'
import { closeAfterResponse, getMaxBodyBytes } from '../request/active-request.ts'

// nginx's lingering_time and lingering_timeout. Counted in checks: timers run before data that arrived during a
// standstill, so by the clock all clients would seem quiet after it.
const checkIntervalMs = 1000
const maxChecks = 30
const maxIdleChecks = 5
export const maxLingerIdleMs = maxIdleChecks * checkIntervalMs

// Per process and kind: discarding costs time and serves no request.
const maxLingering = 1000
// For clients beyond that limit: enough within a data center.
const shortLingerMs = 300

export interface LingerSlots {
  taken: number
}

const requestSlots: LingerSlots = { taken: 0 }

/** `long`: while the client sends, at most 30 s; `short`: 300 ms. */
export type LingerMode = 'long' | 'short'

/** RFC 9110 §15.5.9: the gateway has waited for this client already. */
export const getLingerMode = (failure: GatewayError | null): LingerMode =>
  failure?.kind === 'request-timeout' ? 'short' : 'long'

/** Calls `end` after 5 s of silence, 30 s or `maxBytes`. Returns a function that stops it. */
export const linger = (
  mode: LingerMode,
  maxBytes: number,
  received: () => number, // the caller discards and counts the bytes
  end: () => void,
  slots = requestSlots,
): (() => void) => {
  if (mode === 'short' || slots.taken >= maxLingering) {
    const timer = new CoalescedTimer(end)
    timer.set(shortLingerMs)
    return () => timer.clear()
  }
  const receivedAtStart = received()
  let lastReceived = receivedAtStart
  let checks = 0
  let idleChecks = 0
  const timer = new CoalescedTimer(() => {
    checks++
    idleChecks = received() === lastReceived ? idleChecks + 1 : 0
    lastReceived = received()
    if (checks >= maxChecks || idleChecks >= maxIdleChecks || lastReceived - receivedAtStart > maxBytes) end()
    else timer.set(checkIntervalMs)
  })
  slots.taken++
  timer.set(checkIntervalMs)
  return () => {
    slots.taken--
    timer.clear()
  }
}

export const writeAndLinger = (socket: Socket, bytes: string, mode: LingerMode): void => {
  closeAfterResponse(socket)
  destroyAfterLinger(socket, mode)
  socket.end(bytes, 'latin1')
  socket.resume()
}

/** RFC 9112 §9.6: a socket closed with unread input resets the connection, and the response is lost (decision 039). */
export const destroyAfterLinger = (socket: Socket, mode: LingerMode, slots?: LingerSlots): void => {
  const end = () => void socket.destroy()
  const stopLinger = linger(mode, getMaxBodyBytes(socket), () => socket.bytesRead, end, slots)
  socket.once('end', end)
  socket.once('close', stopLinger)
}
