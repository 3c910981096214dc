import { randomBytes } from 'node:crypto'

// What request ids of the field look like: UUIDs, base64, `Root=1-…`. Nothing that could end a field or a log line.
const sane = /^[A-Za-z0-9._~+/=:@-]{1,128}$/

/** Tells whether a client's own id may be kept. */
export const isSaneId = (id: string): boolean => sane.test(id)

const idBytes = 16
const batch = 256
let pool = Buffer.alloc(0)
let offset = 0

/** Makes an id: 128 random bits in hexadecimal. */
export const makeId = (): string => {
  if (offset === pool.length) {
    pool = randomBytes(idBytes * batch)
    offset = 0
  }
  offset += idBytes
  return pool.toString('hex', offset - idBytes, offset)
}
