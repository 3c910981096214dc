import type { Socket } from 'node:net'
import type { GatewayError } from '../failures/errors.ts'
import type { HeaderFields } from '../header-fields.ts'
import type { RequestTarget } from './request/request-target.ts'

/** Is a request as the public side reads it: one of Node's on HTTP/1, a stream told in the words of HTTP/1 on HTTP/2. */
export interface DownstreamRequest extends BodySource {
  /** Whether requests share the connection, and none waits for another. */
  readonly multiplexed: boolean
  /** What it asks for, taken apart when it has arrived; null: no resource can be meant by it. */
  target: RequestTarget | null
  /** The target as it came. Fastify notes it, and puts what it routes on in the place of `url`. */
  readonly originalUrl?: string | undefined
  readonly url?: string | undefined
  readonly method?: string | undefined
  readonly httpVersion: string
  /** Flat, as on the wire. */
  readonly rawHeaders: string[]
  /** Whether the whole of it has arrived and been read. */
  readonly complete: boolean
  /** The connection that it came on. */
  readonly socket: Socket
  /** Refuses what cannot be meant as a request in this version; null: nothing. */
  validate(): GatewayError | null
  destroy(): unknown
}

/** Is where the body of a request comes from. */
export interface BodySource {
  on(event: 'data', listener: (chunk: Buffer) => void): unknown
  on(event: 'end', listener: () => void): unknown
  pause(): unknown
  resume(): unknown
}

/** What a response that may be the last of its connection is told of its request. */
export interface LastResponseContext {
  /** Whether the gateway takes no new connections. */
  readonly draining: () => boolean
  readonly failure: GatewayError | null
}

/** Is the way to write an answer, in the version that the client speaks. */
export interface DownstreamResponse {
  readonly statusCode: number
  readonly headersSent: boolean
  readonly destroyed: boolean
  readonly writableEnded: boolean
  /** Whether the client got, or will get, all of it; judged when it has closed. */
  readonly writableFinished: boolean
  readonly writableLength: number
  /** Whether what is written of it goes out by now, and does not wait behind the answers before it. */
  readonly isHeadOfLine: boolean
  /** Whether all of an ended answer whose turn it is has been taken already. */
  readonly isFlushed: boolean
  /** Writes the head. Throws when it holds what this version cannot say. `reason` empty: the standard phrase. */
  writeFields(status: number, reason: string, fields: HeaderFields): void
  /** Writes an interim answer, or leaves it out where too much waits to be taken. Throws as `writeFields` does. */
  writeInterim(status: number, fields: HeaderFields): void
  /** Has its head say that nothing follows it: the gateway drains, or the rest of the request is left `unread`. */
  markLast(request: LastResponseContext, unread: boolean): void
  write(chunk: Buffer, onFlushed?: (error?: Error | null) => void): boolean
  end(body?: Buffer): unknown
  end(body: string, encoding: 'latin1'): unknown
  writeContinue(): unknown
  /** Cuts it off, so that it cannot be taken for a whole one. `secure`: it goes over TLS. */
  reset(secure: boolean): void
  on(event: 'close' | 'drain' | 'finish', listener: () => void): this
  once(event: 'close' | 'drain' | 'finish', listener: () => void): this
}
