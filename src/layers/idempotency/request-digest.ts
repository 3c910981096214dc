import { createHash, hash } from 'node:crypto'
import type { RequestBody } from '../../body.ts'
import type { Exchange } from '../../exchange.ts'
import type { BodyShare } from '../../shared/bodies/body-room.ts'
import { bufferRequestBody, WholeBody } from '../../shared/bodies/buffered-request-body.ts'

/** The body of a request, as far as it was read before the request is forwarded. */
export interface DigestedBody {
  /** All of it; null: it is longer than the bound, and streams. */
  readonly whole: Buffer | null
  /** Returns the SHA-256 of the body, in hex; null: it has not come to its end. */
  digest(): string | null
  /** Gives up what has not been sent, when no attempt will send it. */
  stop(): void
}

/**
 * Reads the body of an exchange's request, up to `maxBytes`; a longer one is digested while it streams. Rejects as
 * {@link bufferRequestBody} does.
 */
export const digestRequestBody = async (
  exchange: Exchange,
  maxBytes: number,
  room: BodyShare,
): Promise<DigestedBody> => {
  const { body } = exchange
  if (body.length === 0) return digestWhole(noBytes)
  const digest = body.replayable ? () => null : digestWhileRead(body)
  if (body.length !== null && body.length > maxBytes && !body.replayable) return { whole: null, digest, stop: () => {} }
  const { whole, stop } = await bufferRequestBody(exchange, maxBytes, room)
  if (whole === null) return { whole, digest, stop }
  exchange.body = new WholeBody(whole) // what may outlive the client is no longer the client's
  return digestWhole(whole)
}

/** Reads the rest of a body that will not be forwarded, for its digest. */
export const drainRequestBody = async (exchange: Exchange): Promise<void> => {
  const upload = exchange.body.stream((waits) => {
    exchange.waitsForClient = waits
  })
  for await (const _ of upload);
}

const digestWhole = (whole: Buffer): DigestedBody => ({
  whole,
  digest: () => hash('sha256', whole),
  stop: () => {},
})

const digestWhileRead = (body: RequestBody): (() => string | null) => {
  const hashing = createHash('sha256')
  let digest: string | null = null
  const { onData } = body
  body.onData = (chunk) => {
    onData?.(chunk)
    if (chunk === null) digest = hashing.digest('hex')
    else hashing.update(chunk)
  }
  return () => digest
}

const noBytes = Buffer.alloc(0)
