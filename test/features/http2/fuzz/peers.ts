/** Both codecs with the same simple application, on sockets in memory; and what a client sees of each. */
import { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { DownstreamRequest, DownstreamResponse } from '../../../../src/core/downstream/codec.ts'
import { HpackDecoder } from '../../../../src/core/downstream/http2/hpack/decoder.ts'
import { createHpackField, type HpackField } from '../../../../src/core/downstream/http2/hpack/field.ts'
import type { Stream } from '../../../../src/core/downstream/http2/stream.ts'
import { StreamTable } from '../../../../src/core/downstream/http2/stream-table.ts'
import type { CompiledListenerConfig } from '../../../../src/core/downstream/listener/listener-config.ts'
import type { ProtocolOptions } from '../../../../src/core/downstream/listener/listener-part.ts'
import { isValidHost } from '../../../../src/core/downstream/request/validate-request.ts'
import { createNodeSessions } from '../../../../src/features/http2/node/sessions.ts'
import type { StreamRequest } from '../../../../src/features/http2/node/stream-request.ts'
import { createHttp2Sessions } from '../../../../src/features/http2/sessions.ts'
import { endHeaders, type Frame, splitFrames } from './frames.ts'

/** What the application sees of a request. */
export interface SeenRequest {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly fields: readonly string[]
  /** Why it is a 400. */
  readonly rejected: string | null
  body: string
  isComplete: boolean
}

/** What a client sees of a response. */
export interface SeenResponse {
  /** Interim ones, and the last. */
  readonly heads: (readonly string[])[]
  body: string
  hasEnded: boolean
  /** The code of RST_STREAM. */
  reset: number | null
}

/** The server's end of a connection, and the client's view of it. */
export class Peer extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  bytesRead = 0
  readonly requests = new Map<number, SeenRequest>()
  readonly responses = new Map<number, SeenResponse>()
  /** To PING and to SETTINGS. */
  readonly replies: string[] = []
  goAway: { readonly code: number; readonly why: string } | null = null
  /** Counts what happens, to know when nothing more does. */
  activity = 0
  #left: Buffer = Buffer.alloc(0)
  readonly #block: Buffer[] = []
  #isLast = false
  readonly #decoder = new HpackDecoder()

  get isOver(): boolean {
    return (this.goAway?.code ?? 0) > 0 || this.writableEnded || this.destroyed
  }

  feed(piece: Buffer): void {
    this.bytesRead += piece.length
    if (!this.destroyed) this.push(Buffer.from(piece))
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.activity++
    // Node writes the head of a frame, and then its payload.
    const { frames, rest } = splitFrames(Buffer.concat([this.#left, chunk]))
    this.#left = rest
    for (const frame of frames) this.#onFrame(frame)
    done()
  }

  #onFrame({ type, flags, id, payload }: Frame): void {
    const isAck = (flags & 1) !== 0
    if (type === 0) this.#onData(this.#response(id), payload, isAck)
    else if (type === 1 || type === 9) this.#onBlock(type, flags, id, payload)
    else if (type === 3) this.#response(id).reset = payload.readUInt32BE()
    else if ((type === 4 || type === 6) && isAck) this.replies.push(payload.toString('hex'))
    else if (type === 7) this.goAway = { code: payload.readUInt32BE(4), why: payload.toString('latin1', 8) }
  }

  #onData(response: SeenResponse, payload: Buffer, isLast: boolean): void {
    response.body += payload.toString('latin1')
    response.hasEnded = isLast
  }

  #onBlock(type: number, flags: number, id: number, payload: Buffer): void {
    if (type === 1) this.#isLast = (flags & 1) !== 0
    this.#block.push(payload)
    if ((flags & endHeaders) === 0) return
    const block = Buffer.concat(this.#block.splice(0))
    const fields: HpackField[] = []
    try {
      this.#decoder.decode(block, 0, block.length, fields, 2 ** 20)
    } catch (error) {
      fields.push(createHpackField('broken', String(error)))
    }
    this.#response(id).heads.push(fields.flatMap(({ name, value }) => [name, value]))
    this.#response(id).hasEnded = this.#isLast
  }

  #response(id: number): SeenResponse {
    const known = this.responses.get(id) ?? { heads: [], body: '', hasEnded: false, reset: null }
    this.responses.set(id, known)
    return known
  }
}

const fields = ['Date', 'Mon, 30 Nov 2026 12:00:00 GMT', 'Content-Type', 'text/plain']
const many = ['Set-Cookie', 'a', 'set-cookie', 'b', 'X-Long', 'x'.repeat(20_000), 'X-A', '']

/** Responds to a request, as its path says. */
const serve = (request: DownstreamRequest, response: DownstreamResponse, seen: SeenRequest): void => {
  const path = seen.url?.slice(1) ?? ''
  const respond = (status: number, body: string, more: readonly string[] = []): void => {
    if (response.destroyed) return
    response.writeFields(status, '', [...fields, ...more])
    response.end(body)
  }
  const sendResponse = (): void => {
    if (path === 'large') return respond(200, 'large'.repeat(8000))
    if (path === 'fields') return respond(200, 'x', many)
    if (path === '204' || path === '304') return respond(Number(path), '')
    if (path === 'interim') response.writeInterim(103, ['Link', '</a>'])
    if (path !== 'cut') return respond(200, `${seen.body}.`, ['Content-Length', String(seen.body.length + 1)])
    response.writeFields(200, '', fields)
    response.write(Buffer.from('a part'))
    inTurn(() => inTurn(() => inTurn(() => response.reset())))
  }
  if (seen.rejected !== null) return respond(400, seen.rejected)
  if (path === 'early') return respond(200, 'early')
  if (request.complete) return path === 'late' ? void inTurn(sendResponse) : sendResponse()
  request.consume((chunk) => {
    seen.isComplete = chunk === null
    if (chunk === null) return sendResponse()
    seen.body += chunk.toString('latin1')
    if (path !== 'slow') return
    request.pause()
    inTurn(() => request.resume())
  })
}

const listen = {
  maxTarget: 256,
  maxHeaders: 1024,
  maxHeaderFields: 20,
  timeouts: { headers: 60_000, keepAlive: 60_000 },
}
/** RFC 9113 §6.5.2, of these limits. */
export const maxListSize = 4096
const limits = { maxRequestsPerConnection: Number.POSITIVE_INFINITY, maxBodyBytes: 2 ** 20, isTrusted: () => false }
const listenerConfig = { config: { listen }, ...limits } as unknown as CompiledListenerConfig

const options = (idOf: (request: DownstreamRequest) => number): ProtocolOptions => ({
  getListenerConfig: () => listenerConfig,
  reportUnparsed() {},
  isDraining: () => false,
  onRequest(request, response) {
    const peer = request.socket as unknown as Peer
    peer.activity++
    const { method, url, rawHeaders, complete: isComplete } = request
    const hosts = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1] === 'host')
    // As in validate-request.ts.
    const hasBadHost = hosts.length !== 1 || !isValidHost(hosts[0] ?? '')
    const rejected = request.validate()?.reason ?? (hasBadHost ? 'bad-host' : null)
    const seen: SeenRequest = { method, url, fields: [...rawHeaders], rejected, body: '', isComplete }
    peer.requests.set(idOf(request), seen)
    serve(request, response, seen)
  },
})

// A request of the gateway's codec does not know its stream: it is handed on when its stream has been added.
let addedId = 0
const { add } = StreamTable.prototype
StreamTable.prototype.add = function (stream: Stream) {
  addedId = stream.id
  add.call(this, stream)
}

const own = createHttp2Sessions(options(() => addedId))
const node = createNodeSessions(options((request) => (request as StreamRequest).stream.id as number))

/** Opens a connection of each codec. */
export const openPeers = (): { readonly own: Peer; readonly node: Peer } => {
  const peers = { own: new Peer(), node: new Peer() }
  own.accept(peers.own as unknown as TLSSocket)
  node.accept(peers.node as unknown as TLSSocket)
  return peers
}

/** Calls in a turn of its own. In the continuation of a promise, Node's codec would run ticks between frames. */
export const inTurn = (call: () => void = () => {}): Promise<void> =>
  new Promise((resolve) => void setImmediate(() => resolve(call())))

const quietTurns = 5

/** Waits until nothing happens any more. */
export const settle = async (peers: readonly Peer[]): Promise<void> => {
  const total = (): number => peers.reduce((sum, { activity }) => sum + activity, 0)
  let before = total()
  for (let quiet = 0; quiet < quietTurns; quiet++) {
    await inTurn()
    if (total() !== before) quiet = -1
    before = total()
  }
}
