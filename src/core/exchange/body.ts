/** The bodies of requests and responses on their way through the gateway, and what takes them. */
import type { GatewayError } from './failures/errors.ts'

/** The body of a response, delivered once. */
export interface ResponseBody {
  /**
   * Whether others read its chunks too, or read them again. A sink that has sent a chunk then leaves its memory alone.
   */
  readonly isShared: boolean
  /** Takes the whole body if it has already ended: the one-write path. Null: it is still arriving, or has failed. */
  takeBuffered(): Buffer | null
  /** Starts delivery, beginning with what has already arrived. */
  consume(sink: BodySink): void
  /** Continues after the sink returned false. */
  resume(): void
  /**
   * Drops a body that has no reader; one that is still arriving costs its connection. Called instead of `takeBuffered`
   * and `consume`.
   */
  discard(): void
}

/** Takes the chunks of a body as they come. Exactly one of `end` and `fail` is called, last. */
export interface BodySink {
  /** Takes a chunk; false asks the body to wait until {@link ResponseBody.resume}. */
  data(chunk: Buffer): boolean
  end(): void
  fail(error: GatewayError): void
}

/** The body of a request. It is read from the client at most once, and only on demand. */
export interface RequestBody {
  /** Bytes by Content-Length; 0 when there is no body; null when it is chunked. */
  readonly length: number | null
  readonly received: boolean
  /** Whether it is small enough to be read first, sent in one write and sent again. */
  readonly replayable: boolean
  /** Whether its reading has begun. Until then a body that streams is complete, and can still be sent. */
  readonly started: boolean
  /** The maximum of bytes, counted while they stream; exceeding it ends the exchange with `content-too-large`. */
  maxBytes: number
  /** Called with the bytes as they come from the client, before their reader has them; null: the end. */
  onData: ((chunk: Buffer | null) => void) | null
  /**
   * Called once when the reading begins: a body that streams is not read before there is a connection to send it on.
   */
  onStarted: (() => void) | null
  /** Called once when all of it has arrived. */
  onReceived: (() => void) | null
  /** Reads a replayable body, in the chunks that it came in; the same ones each time. */
  read(): Promise<readonly Buffer[]>
  /**
   * Streams a body that is not replayable. `onFlow` is called when it waits for the client (true) and when it no longer
   * does.
   */
  stream(onFlow: (waitingForClient: boolean) => void): Upload
}

/** Has `listener` called with the bytes of a body too, behind those that hear of them already. */
export const addDataListener = (body: RequestBody, listener: NonNullable<RequestBody['onData']>): void => {
  const { onData } = body
  body.onData =
    onData === null
      ? listener
      : (chunk) => {
          onData(chunk)
          listener(chunk)
        }
}

export interface Upload extends AsyncIterable<Buffer> {
  /** Ends it, with an error to its reader: an upload that is cut short must never look complete. */
  stop(): void
}
