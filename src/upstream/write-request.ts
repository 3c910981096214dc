import type { Socket } from 'node:net'
import type { Upload } from '../exchange.ts'
import { framing } from './request-head.ts'

// Up to this much of a body is joined to the head as text: two pieces of one write cost the kernel more.
const oneWriteBytes = 8 * 1024

/**
 * Writes a request: a head without its framing, and a body that was read first, or comes in pieces, of which `length` says what the head will name;
 * null: chunked. Null: all of it is written. Else resolves when it is, to false when `isOver` says that nothing more is wanted; rejects with the
 * error of the body, and when it has another length than its head says.
 */
export const writeRequest = (
  socket: Socket,
  head: string,
  body: Buffer | Upload | null,
  length: number | null,
  isOver: () => boolean,
): Promise<boolean> | null => {
  if (body !== null && !Buffer.isBuffer(body)) return writeUpload(socket, head, body, length, isOver)
  const framed = head + framing(head, body?.length ?? 0)
  if (body === null) socket.write(framed, 'latin1')
  else if (body.length <= oneWriteBytes) socket.write(framed + body.toString('latin1'), 'latin1')
  else {
    socket.cork()
    socket.write(framed, 'latin1')
    socket.write(body)
    socket.uncork()
  }
  return null
}

/** Writes it as fast as the endpoint takes it, the head with the first piece (RFC 9112 §7.1). */
const writeUpload = async (
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
