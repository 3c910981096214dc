import type { Socket } from 'node:net'

const piece = Buffer.alloc(64 * 1024, 'x')

/** Writes so many bytes as they are taken. */
export const pour = (socket: Socket, bytes: number, done = (): void => {}): void => {
  let left = bytes
  const write = (): void => {
    while (left > 0 && !socket.destroyed) {
      const next = piece.subarray(0, left)
      left -= next.length
      if (!socket.write(next)) return void socket.once('drain', write)
    }
    done()
  }
  write()
}
