import type { GatewayError } from './failures/errors.ts'

export interface ResponseBody {
  /** A sink must not free chunks that other readers have. */
  readonly isShared: boolean
  /** For one write. Null: still arriving, or failed. */
  takeBuffered(): Buffer | null
  consume(sink: BodySink): void
  resume(): void
  /** Instead of `takeBuffered` or `consume`. A body that is still arriving costs its connection. */
  discard(): void
}

/** Exactly one of `end` and `fail` is called, last. */
export interface BodySink {
  /** False: wait for {@link ResponseBody.resume}. */
  data(chunk: Buffer): boolean
  end(): void
  fail(error: GatewayError): void
}

/** Read from the client at most once, and only on demand. */
export interface RequestBody {
  /** From Content-Length; 0: no body; null: chunked. */
  readonly length: number | null
  readonly received: boolean
  /** Read first, sent in one write, and sent again. */
  readonly replayable: boolean
  /** False: a streaming body is complete, and can still be sent. */
  readonly started: boolean
  /** Beyond it a streaming body ends with `content-too-large`. */
  maxBytes: number
  /** Called before the reader gets the bytes, which are valid during the call; null: the end. */
  onData: ((chunk: Buffer | null) => void) | null
  /** Called once, when a connection to send the body on is there. */
  onStarted: (() => void) | null
  onReceived: (() => void) | null
  /** For a replayable body; returns the same chunks each time. */
  read(): Promise<readonly Buffer[]>
  /** For a body that is not replayable. `onFlow(true)`: waits for the client. */
  stream(onFlow: (waitingForClient: boolean) => void): Upload
}

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
  /** Fails the reader: a cut upload must never look complete. */
  stop(): void
}
