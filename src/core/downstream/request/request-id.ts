import { randomBytes, randomUUID } from 'node:crypto'

// The form of usual request ids: UUIDs, base64, `Root=1-…`. Nothing in it could end a field or a log line.
const requestIdPattern = /^[A-Za-z0-9._~+/=:@-]{1,128}$/

export const isValidRequestId = (id: string): boolean => requestIdPattern.test(id)

const idBytes = 16
const idsPerBatch = 256
let randomPool = Buffer.alloc(0)
let randomOffset = 0

/** Creates an id: 128 random bits in hexadecimal. */
export const randomId = (): string => {
  if (randomOffset === randomPool.length) {
    randomPool = randomBytes(idBytes * idsPerBatch)
    randomOffset = 0
  }
  randomOffset += idBytes
  return randomPool.toString('hex', randomOffset - idBytes, randomOffset)
}

/** Creates the id of a request that brings none, by `requestId.format`; a UUID is of version 4 (RFC 9562 §5.4). */
export const createRequestId: Readonly<Record<'hex' | 'uuid', () => string>> = {
  hex: randomId,
  uuid: () => randomUUID(),
}
