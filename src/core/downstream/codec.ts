import type { Socket } from 'node:net'
import type { GatewayError } from '../exchange/failures/errors.ts'
import type { HeaderFields } from '../exchange/header-fields.ts'

/** Byte for byte as the client sent it. */
export interface RequestTarget {
  readonly path: string
  /** With its `?`, or empty. */
  readonly query: string
  /** The host of an absolute-form, which overrides Host (RFC 9112 §3.2.2); null in the origin-form. */
  readonly authority: string | null
}

/** A stream of HTTP/2 appears in the terms of HTTP/1. */
export interface DownstreamRequest extends BodySource {
  /** HTTP/2: requests do not wait for each other. */
  readonly multiplexed: boolean
  /** A malformed field may be missing: the codec leaves it out without an error. */
  readonly mayLackFields?: boolean
  /** Null: the request-target can name no resource. */
  target: RequestTarget | null
  /** The raw target, set before Fastify sees the request. */
  originalUrl?: string | undefined
  /** Once `originalUrl` is set, the path that Fastify routes on. */
  url?: string | undefined
  readonly method?: string | undefined
  readonly httpVersion: string
  readonly rawHeaders: string[]
  readonly complete: boolean
  readonly socket: Socket
  validate(): GatewayError | null
  destroy(): unknown
}

/** A chunk is valid during the call, unless its memory is its own (`isExclusive`). Null: the end. */
export type BodyConsumer = (chunk: Buffer | null) => void

export interface BodySource {
  consume(consumer: BodyConsumer): void
  pause(): unknown
  resume(): unknown
}

export interface DownstreamResponse {
  readonly statusCode: number
  readonly headersSent: boolean
  readonly destroyed: boolean
  readonly writableEnded: boolean
  /** The client got, or will get, the whole response; valid after `close`. */
  readonly writableFinished: boolean
  readonly writableLength: number
  /** How the client broke the protocol, if that ended the response alone; of HTTP/2. */
  readonly fault?: string | null
  /** Bytes go out at once, not behind earlier responses. */
  readonly isHeadOfLine: boolean
  /** The system has taken the whole ended response; only at the head of the line. */
  readonly isFlushed: boolean
  /** Throws on fields that this version cannot express. `reason` empty: the standard phrase. */
  writeFields(status: number, reason: string, fields: HeaderFields): void
  /** Drops the response where too much is buffered. Throws as `writeFields` does. */
  writeInterim(status: number, fields: HeaderFields): void
  /** Announces that the connection ends; `unread`: the rest of the request is left. */
  markLast(failure: GatewayError | null, unread: boolean): void
  /** Sends the head by the end of the next turn, or with the first bytes of the body. */
  flushHead(): void
  write(chunk: Buffer, onFlushed?: (error?: Error | null) => void): boolean
  end(body?: Buffer | string): unknown
  /** Sends `100 Continue` if necessary; calls `onSent` in any case. */
  writeContinue(onSent: () => void): void
  /** A cut response must not pass for a complete one. */
  reset(): void
  on(event: 'close' | 'drain' | 'finish', listener: () => void): this
}
