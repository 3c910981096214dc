import type { Socket } from 'node:net'

type WriteCallback = (error?: Error | null) => void

/**
 * Lets a response through from an endpoint that responds and closes while the request is still being sent (413, 401,
 * 503). With input left unread its kernel resets the connection, the next write fails, and Node would throw away the
 * response that has already arrived. So a write that fails for that reason is passed to `onWriteError` alone, and the
 * socket goes on reading: its end is close, since nothing more can arrive.
 */
export const deferWriteErrors = (socket: Socket, onWriteError: (error: Error) => void): void => {
  // A stream writes one chunk at a time, so one callback is enough, and no write creates a function of its own.
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
