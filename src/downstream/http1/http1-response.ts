import type { IncomingMessage, OutgoingMessage } from 'node:http'
import { fieldNameEquals, type HeaderFields } from '../../header-fields.ts'
import { ServerResponse, validateHeaderName, validateHeaderValue } from '../../node-http.ts'
import type { DownstreamResponse, LastResponseContext } from '../codec.ts'
import { getLingerMode, lingerOnClose } from '../listener/linger.ts'

/**
 * A response with the head that Node has rendered and not yet sent. `_header` is not documented, though as old as
 * `node:http`. Seen on Node 24.21.
 */
type RenderedHead = OutgoingMessage & { _header: string }

/**
 * A response of HTTP/1.0 or 1.1. Its head is rendered here: Node's own rendering takes a `Content-Disposition` behind
 * `Content-Length` for UTF-8, and its non-ASCII characters go out as other bytes, or not at all. Whether the connection
 * persists, and which fields say so, stays Node's decision.
 */
export class Http1Response<Request extends IncomingMessage = IncomingMessage>
  extends ServerResponse<Request>
  implements DownstreamResponse
{
  /** The number of characters of the head that have gone out ahead of it. */
  charsSentAhead = 0
  /** Whether its head says that the connection ends with it. */
  isLast = false

  /** Writes the head: `fields` are end-to-end. `phrase` empty: the standard one. Throws what Node throws. */
  writeFields(status: number, phrase: string, fields: HeaderFields): void {
    let block = ''
    let hasDate = false
    // The fields that Node has to know of to decide on the connection. It renders these itself, and its rendering is
    // left out.
    const nodeFields: string[] = []
    let nodeFieldsBytes = 0
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i] as string
      const value = fields[i + 1] as string
      validateHeaderName(name)
      validateHeaderValue(name, value)
      block += `${name}: ${value}\r\n`
      if (fieldNameEquals(name, 'content-length')) {
        nodeFields.push(name, value)
        nodeFieldsBytes += name.length + value.length + 4
      } else if (fieldNameEquals(name, 'date')) hasDate = true
    }
    if (this.isLast) {
      block += 'Connection: close\r\n'
      nodeFields.push('Connection', 'close')
      nodeFieldsBytes += 'Connection: close\r\n'.length
    }
    this.sendDate = !hasDate
    this.writeHead(status, phrase === '' ? undefined : phrase, nodeFields)
    const statusLine = `HTTP/1.1 ${status} ${this.statusMessage}\r\n`
    const rendered = this as unknown as RenderedHead
    const head = statusLine + block + rendered._header.slice(statusLine.length + nodeFieldsBytes)
    rendered._header = this.charsSentAhead === 0 ? head : head.slice(this.charsSentAhead)
  }

  get isHeadOfLine(): boolean {
    return this.socket !== null
  }

  get isFlushed(): boolean {
    // Nearly always the system has taken all of it at once.
    return this.socket === null || this.socket.writableLength === 0
  }

  writeInterim(status: number, fields: HeaderFields): void {
    // Node buffers what a client does not take, and nothing holds the upstream back. Interim responses are hints: the
    // excess is dropped.
    if (this.writableLength < this.writableHighWaterMark) this.writeInformation(status, fields)
  }

  override writeInformation(status: number, fields?: unknown): void {
    // The final response has begun: nothing may come before it.
    if (this.charsSentAhead === 0) super.writeInformation(status, fields as readonly string[])
  }

  markLast({ failure }: LastResponseContext, unread: boolean): void {
    this.isLast = true
    if (unread) lingerOnClose(this.req, getLingerMode(failure))
  }

  reset(secure: boolean): void {
    const { socket } = this.req
    socket.uncork() // earlier writes go out first: Node gathers the writes of one turn
    // Node resets no TLS connection; there, a close without close_notify says the same (RFC 8446 §6.1).
    if (secure) socket.destroy()
    else socket.resetAndDestroy()
  }
}

/** Casts a response to a client that does not speak HTTP/2. */
export const asHttp1Response = (response: DownstreamResponse): Http1Response => response as Http1Response
