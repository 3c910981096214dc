import type { Socket } from 'node:net'
import { GatewayError } from '../failures/errors.ts'
import type { Kind } from '../failures/kinds.ts'
import type { Reason } from '../failures/reasons.ts'
import type { Live } from '../snapshot/live.ts'
import { type Connection, connectionOf } from './connection.ts'
import type { CurrentEdge } from './edge.ts'
import { ownResponse } from './http1-response.ts'
import { lingerAfter, patienceAfter } from './linger.ts'
import { rawProblem } from './refuse.ts'
import { makeId } from './request-id.ts'
import type { Visit } from './visit.ts'

/** Is an error of Node's parser or of its clock, with the bytes that it happened on. */
export type ParserError = Error & {
  readonly code?: string
  readonly rawPacket?: unknown
  /** Where in the packet it happened. */
  readonly bytesParsed?: number
}

/** Answers what never becomes a request: in the shape of every other error, on the bare socket. */
export interface Stray {
  /** Takes what Node's parser refused. */
  parserError(error: ParserError, socket: Socket): void
  /** Takes CONNECT, which Node would answer with nothing at all. */
  connect(socket: Socket): void
  /** Takes plain HTTP where TLS is spoken, with the first of it. */
  plainHttp(socket: Socket, first: Buffer): void
  /** Records what nothing was written to. */
  record(client: string, failure: GatewayError): void
}

/** Makes what answers for one public listener. */
export const stray = (currentEdge: CurrentEdge, live: Live): Stray => {
  const record = (client: string, failure: GatewayError, requestId = makeId(), bytesOut = 0): void => {
    const { config, recorders } = live.current
    const { status } = failure
    const unknown = { method: null, path: null, totalMs: 0, firstByteMs: null, bytesIn: 0, exchange: null }
    const exchanged = { ...unknown, requestId, client, status, bytesOut, configHash: config.hash, failure }
    for (const recorder of recorders) recorder.record(exchanged)
  }

  const answer = (socket: Socket, client: string, failure: GatewayError, headOnly = false): void => {
    if (!socket.writable) return // the answer before this one has ended the connection
    const requestId = makeId()
    const idField = currentEdge().config.requestIdHeader
    const { head, body } = rawProblem(failure.kind, requestId, idField, failure.fields)
    lingerAfter(socket, headOnly ? head : head + body, patienceAfter(failure))
    record(client, failure, requestId, headOnly ? 0 : body.length)
  }

  /** Answers when the answers due have been written: nothing may be written beside them (RFC 9112 §9.3.2). */
  const answerInTurn = (connection: Connection, socket: Socket, failure: GatewayError, headOnly?: boolean): void => {
    connection.closing = true
    const write = () => answer(socket, connection.peer.address, failure, headOnly)
    const response = connection.running.at(-1)?.response
    if (response === undefined || response.writableFinished) write()
    else response.once('finish', write)
  }

  return {
    record,

    parserError(error, socket) {
      const edge = currentEdge()
      const line = requestLine(error)
      const kind = kindOf(error, line, edge.config.listen.maxTargetBytes)
      if (kind === null) return void socket.destroy()
      // Of a client that has sent nothing, a 408 would answer its first request before that comes; RFC 9110 §15.5.9 leaves it out.
      if (kind === 'request-timeout' && socket.bytesRead === 0) return socket.destroySoon()
      const connection = connectionOf(socket, edge)
      const other = Buffer.isBuffer(error.rawPacket) ? otherProtocol(error.rawPacket) : null
      const failure = other ?? new GatewayError(kind, { reason: reasonOf(kind, error), cause: error })
      const last = connection.running.at(-1)
      if (last !== undefined && !last.request.complete) return breakOff(last, connection, failure)
      // The parser fails again on everything that follows, and at its end.
      if (!connection.closing) answerInTurn(connection, socket, failure, line?.startsWith('HEAD '))
    },

    plainHttp(socket, first) {
      const cause = new Error('plain HTTP where TLS is spoken')
      const failure = otherProtocol(first) ?? new GatewayError('bad-request', { reason: 'plain-http', cause })
      const { peer } = connectionOf(socket, currentEdge())
      answer(socket, peer.address, failure, first.toString('latin1', 0, 5) === 'HEAD ')
    },

    connect(socket) {
      // Node has let go of the socket: without a listener, a client that resets it would end the process.
      socket.on('error', () => {})
      const connection = connectionOf(socket, currentEdge())
      // Nor does Node tell the answers due any more when they may go on, or that nobody is there to take them: a call whose answer
      // waits for its turn would hold its upstream connection for ever.
      socket.on('drain', () => {
        const [first] = connection.running
        if (first !== undefined) ownResponse(first.response).emit('drain')
      })
      socket.on('close', () => {
        for (const { response } of connection.running) ownResponse(response).destroy()
      })
      socket.on('end', () => socket.end())
      socket.resume() // or its end is never read; what a client sends for a tunnel is not kept
      if (!connection.closing)
        answerInTurn(connection, socket, new GatewayError('method-not-allowed', { fields: ['Allow', 'GET, POST'] }))
    },
  }
}

/** Ends a visit whose request body has broken off: its own answer says so, or is cut when it had begun. */
const breakOff = (visit: Visit, connection: Connection, failure: GatewayError): void => {
  const { request, response } = visit
  visit.abort(failure)
  if (connection.closing) return
  connection.closing = true
  response.last(visit, false)
  if (response.writableFinished) request.socket.destroySoon()
  else response.once('finish', () => request.socket.destroySoon())
}

/** Names what the parser found; null: the connection is gone, there is nobody to tell. */
const kindOf = ({ code }: ParserError, line: string | null, maxTargetBytes: number): Kind | null => {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      // The parser has one bound for target and fields together. Without the line it is the fields, which are the likelier.
      return targetBytes(line) > maxTargetBytes ? 'uri-too-long' : 'header-too-large'
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'request-timeout'
    case 'HPE_INVALID_VERSION':
      // Well-formed but not ours (HTTP/3.0) is another answer than nonsense (HTTP/x), or than a bad line end behind HTTP/1.1.
      return / HTTP\/(?!1\.[01])\d\.\d$/.test(line ?? '') ? 'unsupported-version' : 'bad-request'
    case 'ECONNRESET':
    case 'EPIPE':
    case 'ETIMEDOUT':
      return null
    default:
      // Of TLS there is nothing left to say an answer by.
      return code?.startsWith('ERR_SSL') === true || code?.startsWith('ERR_OSSL') === true ? null : 'bad-request'
  }
}

/** Names what of the request the parser stopped at; null: the kind says it. */
const reasonOf = (kind: Kind, { code = '' }: ParserError): Reason | null => {
  if (kind === 'request-timeout') return 'head-too-slow'
  if (kind === 'header-too-large') return 'fields-too-large'
  return kind === 'bad-request' ? (reasons[code] ?? 'bad-syntax') : null
}

// The PROXY protocol, §2.1 and §2.2: a line of text, or a signature that no other protocol begins with.
const proxyLine = /^PROXY (?:TCP4|TCP6|UNKNOWN)[ \r]/
const proxySignature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')

// RFC 8446 §5.1: a record of type handshake, with a version that begins with 3.
const isTls = (first: Buffer): boolean => first[0] === 0x16 && first[1] === 0x03

/**
 * Names another protocol than HTTP by its first bytes: TLS, or the PROXY protocol header of a load balancer in front, of which nothing else is
 * read. Null: it is neither.
 */
const otherProtocol = (first: Buffer): GatewayError | null => {
  if (isTls(first)) {
    const cause = new Error('TLS where plain HTTP is spoken')
    return new GatewayError('bad-request', { reason: 'tls-on-plain-port', cause })
  }
  const isBinary = first.subarray(0, proxySignature.length).equals(proxySignature)
  if (!isBinary && !proxyLine.test(first.toString('latin1', 0, 16))) return null
  const cause = new Error(`a PROXY protocol header, version ${isBinary ? 2 : 1}, where none is taken`)
  return new GatewayError('bad-request', { reason: 'proxy-header', cause })
}

const reasons: Readonly<Record<string, Reason>> = {
  HPE_INVALID_METHOD: 'bad-method',
  HPE_INVALID_URL: 'bad-target',
  HPE_INVALID_CONSTANT: 'bad-version',
  HPE_INVALID_VERSION: 'bad-version',
  HPE_INVALID_HEADER_TOKEN: 'bad-field',
  HPE_UNEXPECTED_SPACE: 'bad-field',
  HPE_CR_EXPECTED: 'bad-line-end',
  HPE_LF_EXPECTED: 'bad-line-end',
  HPE_STRICT: 'bad-line-end',
  HPE_INVALID_CONTENT_LENGTH: 'bad-length',
  HPE_UNEXPECTED_CONTENT_LENGTH: 'bad-length',
  HPE_INVALID_TRANSFER_ENCODING: 'bad-transfer-coding',
  HPE_INVALID_CHUNK_SIZE: 'bad-chunk',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'bad-chunk',
  HPE_INVALID_EOF_STATE: 'cut-short',
}

const targetBytes = (line: string | null): number => line?.split(/ +/, 2)[1]?.length ?? 0

/** Finds the request line that the parser was at in the packet on which it failed; null: an earlier packet held it. */
const requestLine = ({ rawPacket, bytesParsed = 0 }: ParserError): string | null => {
  if (!Buffer.isBuffer(rawPacket)) return null
  const before = bytesParsed < 4 ? -1 : rawPacket.lastIndexOf('\r\n\r\n', bytesParsed - 4) // a request pipelined in front ends there
  const packet = rawPacket.toString('latin1', before === -1 ? 0 : before + 4)
  return /^[\r\n]*([A-Z-]+ [^\r\n]*)/.exec(packet)?.[1] ?? null
}
