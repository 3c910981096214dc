import type { Socket } from 'node:net'

type WriteCallback = (error?: Error | null) => void

/**
 * Lets an endpoint be heard that answers and closes while a request is still on its way to it (413, 401, 503): with input left unread
 * its kernel resets the connection, the next write fails, and Node would throw away the answer that has already arrived. So a write that
 * fails for that is passed to `failed` alone, and the socket goes on reading: its end is close, since nothing more can arrive.
 */
export const deferWriteErrors = (socket: Socket, onWriteError: (error: Error) => void): void => {
  // A stream writes one thing at a time, so one place is enough for what waits, and no write makes a function of its own.
  let pendingCallback: WriteCallback = () => {}
  const settle: WriteCallback = (error) => {
    if (error === null || error === undefined || !isConnectionClosed(error)) pendingCallback(error)
    else onWriteError(error)
  }
  const { _write, _writev } = socket
  socket._write = (chunk, encoding, done) => {
    pendingCallback = done
    _write.call(socket, chunk, encoding, settle)
  }
  socket._writev = (chunks, done) => {
    pendingCallback = done
    _writev?.call(socket, chunks, settle)
  }
}

const isConnectionClosed = ({ code }: NodeJS.ErrnoException): boolean => code === 'ECONNRESET' || code === 'EPIPE'
