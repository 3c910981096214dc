import { createHash } from 'node:crypto'
import type { Socket } from 'node:net'

/** The head of a request as an endpoint reads it. */
export interface LabRequestHead {
  readonly method: string
  readonly target: string
  /** What the client put into `X-Lab-Id`. */
  readonly id: string
}

/** Reads the requests of one connection, one after the other. */
export interface RequestHandlers {
  /** Bytes came while no request was being read: another one begins. */
  begins(): void
  head(head: LabRequestHead): void
  /** The body has come to its end. */
  whole(head: LabRequestHead, sha256: string): void
}

/** A body that is being read: takes bytes, and returns what is left over once it is at its end. */
type Reader = (bytes: Buffer) => Buffer | null

/**
 * Reads requests off a connection: bodies by length or chunked. It is no judge: what is malformed ends the connection.
 */
export const readRequests = (socket: Socket, listener: RequestHandlers): void => {
  let kept: Buffer = Buffer.alloc(0)
  let reading: { readonly head: LabRequestHead; readonly body: Reader; readonly digest: () => string } | null = null

  const take = (): boolean => {
    if (reading === null) {
      const end = kept.indexOf('\r\n\r\n')
      if (end === -1) return false
      const text = kept.toString('latin1', 0, end)
      kept = kept.subarray(end + 4)
      const hash = createHash('sha256')
      reading = {
        head: headOf(text),
        body: bodyOf(text, (piece) => hash.update(piece)),
        digest: () => hash.digest('hex'),
      }
      listener.head(reading.head)
    }
    const left = reading.body(kept)
    kept = left ?? Buffer.alloc(0)
    if (left === null) return false
    const { head, digest } = reading
    reading = null
    listener.whole(head, digest())
    return kept.length > 0
  }

  socket.on('data', (chunk: Buffer) => {
    if (reading === null && kept.length === 0) listener.begins()
    kept = Buffer.concat([kept, chunk])
    while (!socket.destroyed && take());
  })
}

const fieldOf = (text: string, name: string): string | null =>
  new RegExp(`^${name}: *(.*)$`, 'im').exec(text)?.[1]?.trim() ?? null

const headOf = (text: string): LabRequestHead => {
  const [method = '', target = ''] = text.slice(0, text.indexOf('\r\n')).split(' ')
  return { method, target, id: fieldOf(text, 'x-lab-id') ?? '' }
}

const bodyOf = (text: string, onPiece: (piece: Buffer) => void): Reader =>
  fieldOf(text, 'transfer-encoding') === null
    ? sized(Number(fieldOf(text, 'content-length') ?? 0), onPiece)
    : chunks(onPiece)

const sized = (length: number, onPiece: (piece: Buffer) => void): Reader => {
  let left = length
  return (bytes) => {
    const piece = bytes.subarray(0, left)
    onPiece(piece)
    left -= piece.length
    return left === 0 ? bytes.subarray(piece.length) : null
  }
}

const chunks = (onPiece: (piece: Buffer) => void): Reader => {
  let held: Buffer = Buffer.alloc(0)
  return (bytes) => {
    held = Buffer.concat([held, bytes])
    for (;;) {
      const end = held.indexOf('\r\n')
      if (end === -1) return null
      const size = Number.parseInt(held.toString('latin1', 0, end), 16)
      if (held.length < end + 4 + size) return null
      onPiece(held.subarray(end + 2, end + 2 + size))
      held = held.subarray(end + 4 + size)
      if (size === 0) return held
    }
  }
}
