import { createHash, hash } from 'node:crypto'
import { bufferRequestBody, WholeBody } from '../../core/exchange/bodies/buffered-request-body.ts'
import type { RequestBody } from '../../core/exchange/body.ts'
import type { Exchange } from '../../core/exchange/exchange.ts'
import type { QuotaShare } from '../../core/lib/fair-quota.ts'

export interface DigestedBody {
  /** All of it; null: it is longer than the bound, and streams. */
  readonly whole: Buffer | null
  digest(): string | null
  /** Gives up what has not been sent, when no attempt will send it. */
  stop(): void
}

/**
 * Reads the body of an exchange's request, up to `maxBytes`; a longer one is digested while it streams. The digest is
 * the SHA-256 of the key, the query and the body: without the key, what was sent cannot be tried out. Rejects as
 * {@link bufferRequestBody} does.
 */
export const digestRequest = async (
  exchange: Exchange,
  key: string,
  maxBytes: number,
  room: QuotaShare,
): Promise<DigestedBody> => {
  const { body, query } = exchange
  // Where it ends, and the body begins, JSON says itself.
  const prefix = JSON.stringify([key, query])
  if (body.length === 0) return digestWhole(prefix, noBytes)
  const digest = body.replayable ? () => null : digestWhileRead(prefix, body)
  if (body.length !== null && body.length > maxBytes && !body.replayable) return { whole: null, digest, stop: () => {} }
  const { whole, stop } = await bufferRequestBody(exchange, maxBytes, room)
  if (whole === null) return { whole, digest, stop }
  exchange.body = new WholeBody(whole) // what may outlive the client is no longer the client's
  return digestWhole(prefix, whole)
}

/** Reads the rest of a body that will not be forwarded, for its digest. */
export const drainRequestBody = async (exchange: Exchange): Promise<void> => {
  const upload = exchange.body.stream((waits) => {
    exchange.waitsForClient = waits
  })
  for await (const _ of upload);
}

const digestWhole = (prefix: string, whole: Buffer): DigestedBody => {
  const digest = digestJoined(prefix, whole)
  return { whole, digest: () => digest, stop: () => {} }
}

// To copy what is longer costs more than to hash it in two steps.
const maxJoined = 16 * 1024

const digestJoined = (prefix: string, whole: Buffer): string => {
  if (whole.length > maxJoined) return createHash('sha256').update(prefix).update(whole).digest('base64url')
  const length = Buffer.byteLength(prefix)
  const joined = Buffer.allocUnsafe(length + whole.length)
  joined.write(prefix)
  whole.copy(joined, length)
  return hash('sha256', joined, 'base64url')
}

const digestWhileRead = (prefix: string, body: RequestBody): (() => string | null) => {
  const hashing = createHash('sha256').update(prefix)
  let digest: string | null = null
  const { onData } = body
  body.onData = (chunk) => {
    onData?.(chunk)
    if (chunk === null) digest = hashing.digest('base64url')
    else hashing.update(chunk)
  }
  return () => digest
}

const noBytes = Buffer.alloc(0)
