import type { Socket } from 'node:net'
import type { GatewayError } from '../../exchange/failures/errors.ts'
import { CoalescedTimer } from '../../lib/clock.ts'
import { closeAfterResponse, getMaxBodyBytes } from '../request/active-request.ts'

// nginx's lingering_time and lingering_timeout, counted in checks. By the clock, a process that has stood still for as
// long would find all of its clients quiet: timers come before what has arrived meanwhile.
const checkIntervalMs = 1000
const maxChecks = 30
const maxIdleChecks = 5
export const maxLingerIdleMs = maxIdleChecks * checkIntervalMs

// Of one process, and of each kind. Each is a connection, or a stream of one, whose client could as well stay idle for
// longer (`keepAlive`). What they send costs time and serves no request: the limit keeps it from growing with their
// number.
const maxLingering = 1000
// The wait of a client beyond that limit: enough within a data centre.
const shortLingerMs = 300

/** The clients of one kind that are waited for at once in a process. */
export interface LingerSlots {
  taken: number
}

/** The connections of HTTP/1, and the streams of HTTP/2. */
const requestSlots: LingerSlots = { taken: 0 }

/**
 * How long to wait for a client that is still sending after its response: as long as it sends, within limits, or for
 * 300 ms.
 */
export type LingerMode = 'long' | 'short'

/**
 * Returns how long to wait for a client that was sent an error. One that sends too slowly has been waited for already
 * (RFC 9110 §15.5.9).
 */
export const getLingerMode = (failure: GatewayError | null): LingerMode =>
  failure?.kind === 'request-timeout' ? 'short' : 'long'

/**
 * Waits for a client that is still sending after its response: as long as it sends, for 30 s in all, and for
 * `maxBytes`; then calls `end`. The caller discards what comes, and counts it by `received`. Returns a function that
 * stops the wait.
 */
export const linger = (
  mode: LingerMode,
  maxBytes: number,
  received: () => number,
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

/**
 * Writes the last bytes of a connection that has no request any more, and lets them reach the client in the same way.
 */
export const writeAndLinger = (socket: Socket, bytes: string, mode: LingerMode): void => {
  closeAfterResponse(socket)
  destroyAfterLinger(socket, mode)
  socket.end(bytes, 'latin1')
  socket.resume()
}

/**
 * Closes a socket when the other side has ended, or is not waited for any more. It lets the response reach a client
 * that is still sending: closing a socket with unread input makes the kernel reset it, and the response is lost. So
 * when the response closes the connection, the gateway half-closes, discards what comes, and closes when the request
 * ends, or when the limits of {@link linger} are reached (RFC 9112 §9.6).
 */
export const destroyAfterLinger = (socket: Socket, mode: LingerMode, slots?: LingerSlots): void => {
  const end = () => void socket.destroy()
  const stopLinger = linger(mode, getMaxBodyBytes(socket), () => socket.bytesRead, end, slots)
  socket.once('end', end)
  socket.once('close', stopLinger)
}
