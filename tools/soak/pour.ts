import type { Writable } from 'node:stream'

const piece = Buffer.alloc(64 * 1024, 'x')

/** Writes so many bytes as they are taken. */
export const pour = (to: Writable, bytes: number, done = (): void => {}): void => {
  let left = bytes
  const write = (): void => {
    while (left > 0 && !to.destroyed) {
      const next = piece.subarray(0, left)
      left -= next.length
      if (!to.write(next)) return void to.once('drain', write)
    }
    done()
  }
  write()
}
