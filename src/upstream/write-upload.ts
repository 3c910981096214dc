import type { Socket } from 'node:net'
import type { Upload } from '../exchange.ts'
import { framing } from './request-head.ts'

/**
 * Writes a request whose body comes in pieces, as fast as the endpoint takes it; the head goes out with the first piece. `length` is what the head
 * will name, null: chunked (RFC 9112 §7.1). Resolves to false when `isOver` says that nothing more is wanted. Rejects with the
 * error of the body, and when it has another length than its head says.
 */
export const writeUpload = async (
  socket: Socket,
  head: string,
  pieces: Upload,
  length: number | null,
  isOver: () => boolean,
): Promise<boolean> => {
  let unsent = head + framing(head, length)
  let bytes = 0
  for await (const piece of pieces) {
    if (isOver()) return false
    bytes += piece.length
    if (length !== null && bytes > length) throw wrongLength()
    socket.cork()
    if (length === null) unsent += `${piece.length.toString(16)}\r\n`
    if (unsent !== '') socket.write(unsent, 'latin1')
    socket.write(piece)
    socket.uncork()
    unsent = length === null ? '\r\n' : ''
    if (socket.writableNeedDrain) await drained(socket)
  }
  if (isOver()) return false
  if (length !== null && bytes !== length) throw wrongLength()
  // A server that takes no body with a GET need not hear of an empty one.
  if (bytes === 0) unsent = head + framing(head, 0)
  else if (length === null) unsent += '0\r\n\r\n'
  if (unsent !== '') socket.write(unsent, 'latin1')
  return true
}

const drained = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    const goOn = (): void => {
      socket.off('drain', goOn).off('close', goOn)
      resolve()
    }
    socket.on('drain', goOn).on('close', goOn)
  })

const wrongLength = (): Error => new Error('the body of the request has another length than its head says')
