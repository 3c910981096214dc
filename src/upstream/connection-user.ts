import type { GatewayError } from '../failures/errors.ts'
import type { Connection } from './connection.ts'

/** Hears what comes back for a request, in this order. Exactly one of `onEnd` and `onError` is called, last. */
export interface ResponseHandler {
  /** Whether the request must not go out on a connection that the endpoint has closed: it is never sent a second time. */
  readonly isSentOnce: boolean
  /** An interim response (102–199). */
  onInterim(status: number, fields: string[]): void
  /** The head of the final response; `fields` are the end-to-end ones. */
  onHead(status: number, reason: string, fields: string[]): void
  onBody(chunk: Buffer): void
  onEnd(): void
  onError(error: GatewayError): void
}

/** Waits for a connection. One of the two is called. */
export interface ConnectionUser {
  /** Takes the connection, to send on it at once; false: it is not wanted any more. */
  onConnection(connection: Connection): boolean
  onError(error: GatewayError): void
}
