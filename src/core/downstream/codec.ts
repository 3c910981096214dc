import type { Socket } from 'node:net'
import type { GatewayError } from '../exchange/failures/errors.ts'
import type { HeaderFields } from '../exchange/header-fields.ts'

/** A parsed request-target, byte for byte as the client spelled it. */
export interface RequestTarget {
  readonly path: string
  /** The raw query with its `?`, or empty. */
  readonly query: string
  /** The host of an absolute-form, which overrides Host (RFC 9112 §3.2.2); null in the origin-form. */
  readonly authority: string | null
}

/** A client's request: one of HTTP/1, or a stream of HTTP/2 in the terms of HTTP/1. */
export interface DownstreamRequest extends BodySource {
  /** Whether requests share the connection without waiting for each other. */
  readonly multiplexed: boolean
  /** The request-target, parsed when it arrives; null: it can name no resource. */
  target: RequestTarget | null
  /** The target as it came, set before Fastify sees the request. */
  originalUrl?: string | undefined
  /** Once `originalUrl` is set, the path that Fastify routes on. */
  url?: string | undefined
  readonly method?: string | undefined
  readonly httpVersion: string
  /** Flat, as on the wire. */
  readonly rawHeaders: string[]
  readonly complete: boolean
  readonly socket: Socket
  /** Rejects what is no valid request in this version; null: it is valid. */
  validate(): GatewayError | null
  destroy(): unknown
}

/** Takes the chunks of a body; null: its end. */
export type BodyConsumer = (chunk: Buffer | null) => void

export interface BodySource {
  /** Hands the body on from now on, beginning with what has come of it already. */
  consume(consumer: BodyConsumer): void
  pause(): unknown
  resume(): unknown
}

/** Writes a response, in the version of HTTP that the client speaks. */
export interface DownstreamResponse {
  readonly statusCode: number
  readonly headersSent: boolean
  readonly destroyed: boolean
  readonly writableEnded: boolean
  /** Whether the client got, or will get, all of it; valid once it has closed. */
  readonly writableFinished: boolean
  readonly writableLength: number
  /** Whether its bytes go out at once, and do not wait behind earlier responses. */
  readonly isHeadOfLine: boolean
  /** Whether the system has taken all of a response that has ended and is the head of the line. */
  readonly isFlushed: boolean
  /** Writes the head. Throws when it holds what this version cannot express. `reason` empty: the standard phrase. */
  writeFields(status: number, reason: string, fields: HeaderFields): void
  /** Writes an interim response, or drops it where too much waits to be taken. Throws as `writeFields` does. */
  writeInterim(status: number, fields: HeaderFields): void
  /** Makes its head say that nothing follows it: the gateway drains, or the rest of the request is left `unread`. */
  markLast(failure: GatewayError | null, unread: boolean): void
  /** Sends the head by the end of the next turn, unless some of the body takes it along. */
  flushHead(): void
  write(chunk: Buffer, onFlushed?: (error?: Error | null) => void): boolean
  /** Ends it; `body`: what is left of it, as bytes or as latin1. */
  end(body?: Buffer | string): unknown
  /** Tells the client to send the body. `onSent` is called when that is out, or need not be said. */
  writeContinue(onSent: () => void): void
  /** Cuts it off, so that it cannot pass for a complete one. */
  reset(): void
  /** Notifies of an event; `close` and `finish` come once. */
  on(event: 'close' | 'drain' | 'finish', listener: () => void): this
}
