import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { closeAfterAnswer } from './connection.ts'

const lingerMs = 300

/**
 * Lets a client that is still sending hear the answer: closing a socket with unread input makes the kernel reset it, and the answer is
 * lost. So when the response closes the connection, the gateway half-closes, discards what comes, and closes when the request ends or
 * after 300 ms (RFC 9112 §9.6). A request that is pipelined behind is not served.
 */
export const lingerOnClose = (request: IncomingMessage): void => {
  const { socket } = request
  closeAfterAnswer(socket)
  // Node calls this once the last answer of a connection has been written.
  socket.destroySoon = () => {
    if (request.complete || socket.destroyed) return void socket.destroy()
    request.once('end', () => socket.destroy())
    discard(socket)
    socket.end()
    request.resume()
  }
}

/** Writes the last bytes of a connection that has no request any more, and lets the client hear them in the same way. */
export const lingerAfter = (socket: Socket, bytes: string): void => {
  closeAfterAnswer(socket)
  discard(socket)
  socket.end(bytes, 'latin1')
  socket.resume()
}

/** Closes a socket when the other side has ended, or when its time is up. */
const discard = (socket: Socket): void => {
  const timer = setTimeout(() => socket.destroy(), lingerMs)
  socket.once('end', () => socket.destroy())
  socket.once('close', () => clearTimeout(timer))
}
