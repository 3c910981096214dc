import type { BodySink, ResponseBody } from '../../body.ts'

/** The body of a response whose bytes are in memory. Any number of responses may have them, also at the same time. */
export class BytesBody implements ResponseBody {
  readonly isShared = true
  readonly bytes: Buffer

  /** Takes bytes that nothing else will write to or free. */
  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  takeBuffered(): Buffer {
    return this.bytes
  }

  consume(sink: BodySink): void {
    if (this.bytes.length > 0) sink.data(this.bytes)
    sink.end()
  }

  resume(): void {}

  discard(): void {}
}
