import type { Socket } from 'node:net'
import type { Upload } from '../exchange.ts'
import { framing } from './request-head.ts'

/** A body: the pieces of all of it, or what comes of it by and by. */
export type RequestContent = readonly Buffer[] | Upload

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
  body: RequestContent,
  length: number | null,
  isOver: () => boolean,
): Promise<boolean> | null => {
  if ('stop' in body) return writeUpload(socket, head, body, length, isOver)
  let bytes = 0
  for (const piece of body) bytes += piece.length
  let text = head + framing(head, bytes)
  if (bytes <= oneWriteBytes) {
    for (const piece of body) text += piece.toString('latin1')
    socket.write(text, 'latin1')
  } else {
    socket.cork()
    socket.write(text, 'latin1')
    for (const piece of body) socket.write(piece)
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
