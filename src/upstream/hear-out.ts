import type { Socket } from 'node:net'

type Done = (error?: Error | null) => void

/**
 * Lets an upstream be heard that answers and closes while a request is still on its way to it (413, 401, 503): with input left unread
 * its kernel resets the connection, the next write fails, and Node would throw away the answer that has already arrived. So a failed
 * write is told only when everything that came has been read.
 */
export const hearOut = (socket: Socket): void => {
  // A stream writes one thing at a time, so one place is enough for what waits, and no write makes a function of its own.
  let waiting: Done = nobody
  const settle: Done = (error) => {
    const done = waiting
    if (error === null || error === undefined || !isClosed(error)) return done(error)
    // The end is close: nothing more can arrive on such a connection. It is no clean end, or a part would pass for the whole.
    const { push } = socket
    socket.push = (chunk: unknown, ...rest): boolean => {
      if (chunk !== null) return push.call(socket, chunk, ...rest)
      done(error)
      return false
    }
  }
  const { _write, _writev } = socket
  socket._write = (chunk, encoding, done) => {
    waiting = done
    _write.call(socket, chunk, encoding, settle)
  }
  socket._writev = (chunks, done) => {
    waiting = done
    _writev?.call(socket, chunks, settle)
  }
}

const nobody: Done = () => {}

const isClosed = ({ code }: NodeJS.ErrnoException): boolean => code === 'ECONNRESET' || code === 'EPIPE'
