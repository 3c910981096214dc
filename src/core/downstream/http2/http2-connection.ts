import type { Socket } from 'node:net'
import type { HeaderFields } from '../../exchange/header-fields.ts'
import { freeBuffer } from '../../lib/buffers.ts'
import { boundMemory, maxControlBytes } from './connection-memory.ts'
import { ControlFrames } from './control-frames.ts'
import { type FieldBlock, FieldBlockReader } from './field-block.ts'
import { FloodBudget } from './flood-budget.ts'
import { createFrame, createNumberFrame, frameTypes } from './frame.ts'
import { FrameReader, type FrameSink } from './frame-reader.ts'
import { FrameSender } from './frame-sender.ts'
import { ConnectionError, type ErrorCode, errorCodes, protocolError } from './http2-error.ts'
import { ReceiveWindows } from './receive-windows.ts'
import { areTrailers, readStreamHead, type StreamHead } from './request-head.ts'
import { renderSettings } from './settings.ts'
import { type OnFlushed, Stream } from './stream.ts'
import { StreamTable } from './stream-table.ts'
import type { WideConnections } from './wide-connections.ts'

export interface Http2ConnectionOptions {
  readonly maxConcurrentStreams: number
  /** SETTINGS_MAX_HEADER_LIST_SIZE, in bytes as RFC 9113 §6.5.2 counts them. */
  readonly maxListSize: number
  readonly wideConnections: WideConnections
  onStream(stream: Stream): void
  /** Both sides of a stream have ended, or it was reset, or the connection is gone. */
  onStreamClosed(stream: Stream): void
  /** `fault` quotes nothing of the client. */
  onMalformed(fault: string): void
  onFailure(error: ConnectionError): void
}

/** RFC 9113 §8.1.1. */
const wrongLength = 'a body that is not as long as content-length says'

// For a client that has broken the protocol, and may not read its GOAWAY.
const goAwayFlushMs = 500

/** The server's side of HTTP/2 (RFC 9113) on a socket. */
export class Http2Connection implements FrameSink {
  readonly socket: Socket
  readonly #options: Http2ConnectionOptions
  readonly #budget = new FloodBudget()
  readonly #reader = new FrameReader(this)
  readonly #blocks: FieldBlockReader
  readonly #sender: FrameSender
  readonly #windows: ReceiveWindows
  readonly #streams: StreamTable
  readonly #control: ControlFrames
  #hasFailed = false
  /** The stream of the DATA frame that is being read; null: its data are dropped. */
  #dataStream: Stream | null = null
  #dataIsLast = false

  constructor(socket: Socket, options: Http2ConnectionOptions) {
    this.socket = socket
    this.#options = options
    const { fieldBlock } = boundMemory(options)
    this.#blocks = new FieldBlockReader(this.#budget, options.maxListSize, fieldBlock)
    this.#sender = new FrameSender(socket, this.#budget, {
      onEndRendered: (stream) => this.#streams.endResponse(stream),
      onEndWritten: (stream, error) => this.#onEndWritten(stream, error),
    })
    this.#streams = new StreamTable(this.#sender, this.#budget, (stream) => this.#onClosed(stream))
    this.#control = new ControlFrames(this.#sender, this.#streams, this.#budget)
    this.#sender.sendControl(renderSettings(options))
    this.#windows = new ReceiveWindows(options.wideConnections, (id, bytes) =>
      this.#sender.sendControl(createNumberFrame(frameTypes.windowUpdate, id, bytes)),
    )
    socket.on('error', () => void socket.destroy()) // an error of TLS leaves the socket open
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.once('close', () => {
      this.#hasFailed = true
      this.#windows.close()
      this.#streams.closeAll()
    })
  }

  get openStreams(): number {
    return this.#streams.size
  }

  get hasGoneAway(): boolean {
    return this.#streams.isFinal
  }

  /** Sends nothing on a stream that was reset. */
  sendHead(stream: Stream, status: string, fields: HeaderFields): void {
    stream.heads.push({ status, fields })
    this.#send(stream)
  }

  sendData(stream: Stream, data: Buffer | string, onFlushed?: OnFlushed): void {
    stream.pieces.push({ data, onFlushed })
    stream.queuedBytes += data.length
    this.#send(stream)
  }

  endResponse(stream: Stream): void {
    stream.isLast = true
    this.#send(stream)
  }

  flushesNow(stream: Stream): boolean {
    return this.#sender.flushesNow(stream)
  }

  reset(stream: Stream, code: ErrorCode): void {
    this.#streams.reset(stream, code)
  }

  /** The owner has read `bytes`: the client may send this number of bytes more. */
  readBody(stream: Stream, bytes: number, hasWaited: boolean): void {
    if (!stream.isClosed) stream.bodyWindow?.read(bytes, hasWaited)
  }

  /** Takes no more streams; open streams continue (RFC 9113 §6.8). */
  goAway(code: ErrorCode = errorCodes.noError, debug = ''): void {
    if (this.hasGoneAway && code === errorCodes.noError) return
    this.#streams.isFinal = true
    const payload = Buffer.alloc(8 + debug.length)
    payload.writeUInt32BE(this.#streams.lastId, 0)
    payload.writeUInt32BE(code, 4)
    payload.write(debug, 8, 'latin1')
    this.#sender.sendControl(createFrame(frameTypes.goAway, 0, 0, payload))
    if (this.#streams.size === 0) this.#sender.end()
  }

  #send(stream: Stream): void {
    if (this.#streams.has(stream)) this.#sender.send(stream)
  }

  #onEndWritten(stream: Stream, error: Error | null): void {
    stream.isSent = true
    if (error === null) stream.events?.onSent()
    if (!this.#streams.has(stream)) this.#onClosed(stream)
  }

  #onClosed(stream: Stream): void {
    if (stream.isClosed) return
    stream.isClosed = true
    if (this.#dataStream === stream) this.#dataStream = null
    stream.bodyWindow?.close()
    stream.events?.onClose()
    stream.events = null
    this.#options.onStreamClosed(stream)
    if (this.hasGoneAway && this.#streams.size === 0) this.#sender.end()
  }

  #read(chunk: Buffer): void {
    if (this.#hasFailed) return
    try {
      if (this.#sender.controlBytes > maxControlBytes)
        throw new ConnectionError(errorCodes.enhanceYourCalm, 'too many unread replies', 'unread-replies')
      this.#reader.read(chunk)
      freeBuffer(chunk)
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error
      this.#fail(error)
    }
  }

  /** RFC 9113 §5.4.1. */
  #fail(error: ConnectionError): void {
    this.#hasFailed = true
    this.#options.onFailure(error)
    this.#streams.closeAll()
    this.goAway(error.code, error.message)
    const timer = setTimeout(() => this.socket.destroy(), goAwayFlushMs)
    this.socket.once('close', () => clearTimeout(timer))
  }

  onDataHead(id: number, length: number, padding: number, isLast: boolean): void {
    if (!this.#windows.take(length))
      throw new ConnectionError(errorCodes.flowControlError, 'more DATA than the window of the connection allows')
    const dataBytes = length - padding
    if (dataBytes === 0 && !isLast) this.#budget.take('emptyData')
    this.#dataIsLast = isLast
    this.#dataStream = this.#takeData(id, length, dataBytes, isLast)
    // RFC 9113 §6.1: padding counts, and counts as read at once.
    if (padding > 0) this.#dataStream?.bodyWindow?.read(padding, false)
  }

  /** Null: the data are dropped. */
  #takeData(id: number, length: number, dataBytes: number, isLast: boolean): Stream | null {
    const stream = this.#streams.find(id)
    if (stream === undefined) {
      this.#streams.judgeLateFrame(id, 'ignored')
      return null
    }
    if (stream.hasRequestEnded) return this.#streams.resetByFault(id, errorCodes.streamClosed, 'DATA behind the end')
    if (stream.bodyWindow?.take(length) !== true)
      return this.#streams.resetByFault(id, errorCodes.flowControlError, 'more DATA than the window of the stream')
    if (stream.contentLeft === null) return stream
    stream.contentLeft -= dataBytes
    const isWrong = stream.contentLeft < 0 || (isLast && stream.contentLeft > 0)
    return isWrong ? this.#streams.resetByFault(id, errorCodes.protocolError, wrongLength) : stream
  }

  onData(piece: Buffer): void {
    this.#dataStream?.events?.onData(piece)
  }

  onDataEnd(): void {
    const stream = this.#dataStream
    this.#dataStream = null
    stream?.bodyWindow?.settle()
    this.#windows.giveBack()
    if (stream !== null && this.#dataIsLast) this.#streams.endRequest(stream)
  }

  onFrame(type: number, frameFlags: number, id: number, payload: Buffer, from: number, to: number): void {
    switch (type) {
      case frameTypes.headers:
        if (id === 0) throw protocolError('HEADERS on stream 0')
        return this.#onBlock(this.#blocks.readHeaders(frameFlags, id, payload, from, to))
      case frameTypes.continuation:
        return this.#onBlock(this.#blocks.readContinuation(frameFlags, id, payload, from, to))
      default:
        return this.#control.onFrame(type, frameFlags, id, payload, from, to)
    }
  }

  #onBlock(block: FieldBlock | null): void {
    if (block === null) return
    const { streamId: id, isLast } = block
    const open = this.#streams.find(id)
    if (open !== undefined) return this.#onTrailers(open, block)
    if (id % 2 === 0) throw protocolError('a stream with an even id')
    // After GOAWAY, new streams are not processed: the client may send them again.
    if (!this.#streams.isIdle(id)) return this.#streams.judgeLateFrame(id, 'rejectedHead')
    this.#streams.lastId = id
    if (this.#streams.size >= this.#options.maxConcurrentStreams)
      return this.#streams.rejectHead(id, errorCodes.refusedStream)
    const head = this.#readHead(block)
    if (typeof head === 'string') {
      this.#streams.rejectHead(id, errorCodes.protocolError)
      return this.#options.onMalformed(head)
    }
    const stream = new Stream(id, head, isLast, this.#sender.streamWindow)
    if (!isLast) stream.bodyWindow = this.#windows.createBodyWindow(id)
    this.#streams.add(stream)
    this.#options.onStream(stream)
  }

  #readHead({ isLast, fields, isWhole, dependsOnItself }: FieldBlock): StreamHead | string {
    if (!isWhole) return `a list of more than ${this.#options.maxListSize} bytes (SETTINGS_MAX_HEADER_LIST_SIZE)`
    if (dependsOnItself) return 'a stream that depends on itself'
    const head = readStreamHead(fields)
    return typeof head !== 'string' && isLast && (head.contentLength ?? 0) > 0 ? wrongLength : head
  }

  /** RFC 9113 §8.1: trailers end the request, and are dropped. */
  #onTrailers(stream: Stream, { isLast, fields, isWhole }: FieldBlock): void {
    const { id, hasRequestEnded, contentLeft } = stream
    if (hasRequestEnded) this.#streams.resetByFault(id, errorCodes.streamClosed, 'HEADERS behind the end')
    else if ((contentLeft ?? 0) > 0) this.#streams.resetByFault(id, errorCodes.protocolError, wrongLength)
    else if (!isLast || !isWhole || !areTrailers(fields))
      this.#streams.resetByFault(id, errorCodes.protocolError, 'malformed trailers')
    else this.#streams.endRequest(stream)
  }
}
