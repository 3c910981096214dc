import type { IncomingMessage, OutgoingMessage } from 'node:http'
import { type Fields, isNamed } from '../fields.ts'
import { ServerResponse, validateHeaderName, validateHeaderValue } from '../node-http.ts'
import { lingerOnClose, patienceAfter } from './linger.ts'
import type { ClientResponse, Ending } from './wire.ts'

/**
 * A response with the head that Node has rendered and not yet sent. `_header` is not documented, though as old as `node:http`. Seen on
 * Node 24.21.
 */
type Rendered = OutgoingMessage & { _header: string }

/**
 * A response of HTTP/1.0 or 1.1. Its head is rendered here: Node's own rendering takes a `Content-Disposition` behind
 * `Content-Length` for UTF-8, and what is not ASCII in it goes out as other bytes, or not at all. How the connection goes
 * on, and what is said of it, stays Node's.
 */
export class Http1Response<Request extends IncomingMessage = IncomingMessage>
  extends ServerResponse<Request>
  implements ClientResponse
{
  /** How many characters of the head have gone out ahead of it. */
  ahead = 0
  /** Whether its head says that the connection ends with it. */
  isLast = false

  /** Writes the head: `fields` are end-to-end. `phrase` empty: the standard one. Throws what Node throws. */
  writeFields(status: number, phrase: string, fields: Fields): void {
    let block = ''
    let hasDate = false
    // What Node has to know of to go on from there. It renders these itself, and that is left out.
    const known: string[] = []
    let knownBytes = 0
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i] as string
      const value = fields[i + 1] as string
      validateHeaderName(name)
      validateHeaderValue(name, value)
      block += `${name}: ${value}\r\n`
      if (isNamed(name, 'content-length')) {
        known.push(name, value)
        knownBytes += name.length + value.length + 4
      } else if (isNamed(name, 'date')) hasDate = true
    }
    if (this.isLast) {
      block += 'Connection: close\r\n'
      known.push('Connection', 'close')
      knownBytes += 'Connection: close\r\n'.length
    }
    this.sendDate = !hasDate
    this.writeHead(status, phrase === '' ? undefined : phrase, known)
    const statusLine = `HTTP/1.1 ${status} ${this.statusMessage}\r\n`
    const rendered = this as unknown as Rendered
    const head = statusLine + block + rendered._header.slice(statusLine.length + knownBytes)
    rendered._header = this.ahead === 0 ? head : head.slice(this.ahead)
  }

  get hasTurn(): boolean {
    return this.socket !== null
  }

  get isTaken(): boolean {
    // Nearly always the system has taken all of it at once.
    return this.socket === null || this.socket.writableLength === 0
  }

  writeInterim(status: number, fields: Fields): void {
    // Node keeps what a client does not take, and nothing holds the upstream back. Interim answers are hints: the excess
    // is left out.
    if (this.writableLength < this.writableHighWaterMark) this.writeInformation(status, fields)
  }

  override writeInformation(status: number, fields?: unknown): void {
    // The response has begun: nothing may come before it any more.
    if (this.ahead === 0) super.writeInformation(status, fields as readonly string[])
  }

  last({ failure }: Ending, unread: boolean): void {
    this.isLast = true
    if (unread) lingerOnClose(this.req, patienceAfter(failure))
  }

  cut(secure: boolean): void {
    const { socket } = this.req
    socket.uncork() // what has come before goes out: Node gathers the writes of one turn
    // Node resets no TLS connection; there, a close without close_notify says the same (RFC 8446 §6.1).
    if (secure) socket.destroy()
    else socket.resetAndDestroy()
  }
}

/** Names the class of a response to a client that does not speak HTTP/2. */
export const ownResponse = (response: ClientResponse): Http1Response => response as Http1Response
