import type { Socket } from 'node:net'
import type { GatewayError } from '../exchange/failures/errors.ts'
import type { HeaderFields } from '../exchange/header-fields.ts'

export interface RequestTarget {
  readonly path: string
  readonly query: string
  /** Of an absolute-form: overrides Host (RFC 9112 §3.2.2); null in the origin-form. */
  readonly authority: string | null
}

/** A stream of HTTP/2 appears in the terms of HTTP/1. */
export interface DownstreamRequest extends BodySource {
  readonly multiplexed: boolean
  /** The codec leaves malformed fields out: one may be missing. */
  readonly mayLackFields?: boolean
  /** Null: the request-target can name no resource. */
  target: RequestTarget | null
  originalUrl?: string | undefined
  /** Once `originalUrl` is set: the path that Fastify routes on. */
  url?: string | undefined
  readonly method?: string | undefined
  readonly httpVersion: string
  readonly rawHeaders: string[]
  readonly complete: boolean
  readonly socket: Socket
  validate(): GatewayError | null
  destroy(): unknown
}

/** A chunk is valid during the call, unless `isExclusive`. Null: the end. */
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
  /** Valid after `close`. */
  readonly writableFinished: boolean
  readonly writableLength: number
  /** HTTP/2: how the client broke the protocol, if only the stream ended. */
  readonly fault?: string | null
  readonly isHeadOfLine: boolean
  /** The system has taken the whole response. Only at the head of the line. */
  readonly isFlushed: boolean
  /** Throws on fields that the HTTP version cannot express. `reason` empty: the standard phrase. */
  writeFields(status: number, reason: string, fields: HeaderFields): void
  /** Drops the response where too much is buffered. Throws as `writeFields` does. */
  writeInterim(status: number, fields: HeaderFields): void
  /** Announces that the connection ends. `unread`: the rest of the request is not read. */
  markLast(failure: GatewayError | null, unread: boolean): void
  /** Sends the head by the end of the next turn, or with the first bytes of the body. */
  flushHead(): void
  write(chunk: Buffer, onFlushed?: (error?: Error | null) => void): boolean
  end(body?: Buffer | string): unknown
  /** Sends `100 Continue` if necessary; calls `onSent` in any case. */
  writeContinue(onSent: () => void): void
  /** A part must not look whole. */
  reset(): void
  on(event: 'close' | 'drain' | 'finish', listener: () => void): this
}
