import type { Socket } from 'node:net'
import { GatewayError } from '../failures/errors.ts'
import type { Live } from '../snapshot/live.ts'
import { type Connection, connectionOf } from './connection.ts'
import type { CurrentEdge } from './edge.ts'
import { makeId } from './head.ts'
import { ownResponse } from './http1-response.ts'
import { lingerAfter, patienceAfter } from './linger.ts'
import { failureOf, otherProtocol, type ParserError, requestLine } from './parser-error.ts'
import { rawProblem } from './refuse.ts'
import type { Visit } from './visit.ts'

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
    const idField = currentEdge().config.requestId.header
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
      const failure = failureOf(error, line, edge.config.listen.maxTarget)
      if (failure === null) return void socket.destroy()
      // Of a client that has sent nothing, a 408 would answer its first request before that comes; RFC 9110 §15.5.9 leaves it out.
      if (failure.kind === 'request-timeout' && socket.bytesRead === 0) return socket.destroySoon()
      const connection = connectionOf(socket, edge)
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
