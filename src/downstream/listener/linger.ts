import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { CoalescedTimer } from '../../clock.ts'
import type { GatewayError } from '../../failures/errors.ts'
import { closeAfterResponse, getMaxBodyBytes } from './client-connection.ts'

// nginx's lingering_time and lingering_timeout, counted in looks. By the clock, a process that has stood still for as long would find all
// of its clients quiet: timers come before what has arrived meanwhile.
const checkIntervalMs = 1000
const maxChecks = 30
const maxIdleChecks = 5

// Of one process. Each is a connection, or a stream of one, whose client could as well stay idle for longer (`keepAlive`): the bound keeps
// what they send, which costs time and serves nobody, from growing with their number.
const maxLingering = 1000
// What a client gets beyond that: enough within a data centre.
const shortLingerMs = 300
let lingeringCount = 0

/** How long a client is waited for that is still sending after its answer: as long as it sends, within bounds, or for 300 ms. */
export type LingerMode = 'long' | 'short'

/** Tells how long to wait for a client that was refused. One that sends too slowly has been waited for already (RFC 9110 §15.5.9). */
export const getLingerMode = (failure: GatewayError | null): LingerMode =>
  failure?.kind === 'request-timeout' ? 'short' : 'long'

/**
 * Waits for a client that is still sending after its answer: as long as it sends, for 30 s in all, and for `mostBytes`; then calls `end`.
 * The caller discards what comes, and counts it by `received`. Returns what ends the wait.
 */
export const linger = (mode: LingerMode, maxBytes: number, received: () => number, end: () => void): (() => void) => {
  if (mode === 'short' || lingeringCount >= maxLingering) {
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
  lingeringCount++
  timer.set(checkIntervalMs)
  return () => {
    lingeringCount--
    timer.clear()
  }
}

/**
 * Lets a client that is still sending hear the answer: closing a socket with unread input makes the kernel reset it, and the answer is
 * lost. So when the response closes the connection, the gateway half-closes, discards what comes, and closes when the request ends, or
 * when the bounds of {@link linger} are reached (RFC 9112 §9.6). A request that is pipelined behind is not served.
 */
export const lingerOnClose = (request: IncomingMessage, mode: LingerMode): void => {
  const { socket } = request
  closeAfterResponse(socket)
  // Node calls this once the last answer of a connection has been written.
  socket.destroySoon = () => {
    socket.destroySoon = () => {} // and so does stray.ts where the request broke off
    if (request.complete || socket.destroyed) return void socket.destroy()
    request.once('end', () => socket.destroy())
    destroyAfterLinger(socket, mode)
    socket.end()
    request.resume()
  }
}

/** Writes the last bytes of a connection that has no request any more, and lets the client hear them in the same way. */
export const writeAndLinger = (socket: Socket, bytes: string, mode: LingerMode): void => {
  closeAfterResponse(socket)
  destroyAfterLinger(socket, mode)
  socket.end(bytes, 'latin1')
  socket.resume()
}

/** Closes a socket when the other side has ended, or is not waited for any more. */
const destroyAfterLinger = (socket: Socket, mode: LingerMode): void => {
  const end = () => void socket.destroy()
  const stopLinger = linger(mode, getMaxBodyBytes(socket), () => socket.bytesRead, end)
  socket.once('end', end)
  socket.once('close', stopLinger)
}
