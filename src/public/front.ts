import type { IncomingMessage, ServerResponse } from 'node:http'
import { now } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import { gather } from '../shared/gather.ts'
import type { Live } from '../snapshot/live.ts'
import type { Accounts } from './accounts.ts'
import { admit } from './admit.ts'
import { type Connection, connectionOf } from './connection.ts'
import type { CurrentEdge, Edge } from './edge.ts'
import { expectation } from './expectation.ts'
import { readHead } from './head.ts'
import { http1 } from './http1.ts'
import { open } from './open.ts'
import { parseNoMore } from './parse-no-more.ts'
import { clientAddress } from './peer.ts'
import { refuse } from './refuse.ts'
import { relay } from './relay.ts'
import { makeId } from './request-id.ts'
import { Visit } from './visit.ts'
import type { ClientRequest, ClientResponse, Wire } from './wire.ts'

/** Is what the front needs of the listener that it stands in. */
interface FrontOptions {
  readonly live: Live
  readonly currentEdge: CurrentEdge
  readonly accounts: Accounts
  /** The gateway's name in `Via`. */
  readonly pseudonym: string
  readonly draining: () => boolean
}

/** Stands before Fastify and behind it. */
export interface Front {
  /** Matches one of the nine on the raw target, before anything has been decoded, and hands it to `enter`; refuses everything else. */
  arrive(request: IncomingMessage, response: ServerResponse, enter: Enter): void
  /** Does the same for a request that shares its connection with others and waits for none of them. */
  arriveApart(request: ClientRequest, response: ClientResponse, wire: Wire, enter: Enter): void
  /** Serves a request that Fastify has routed. */
  serve(request: ClientRequest): void
  /** Answers a request that failed on its way through Fastify. */
  fail(request: ClientRequest, error: unknown): void
}

/** Is Fastify. Of either version it reads no more than method, target and a few fields. */
type Enter = (request: IncomingMessage, response: ServerResponse) => void

/** Is where answers wait for their turn: a connection, or a stream of one. */
type Lane = Pick<Connection, 'peer' | 'running' | 'closing'> & { readonly idle: Connection['idle'] | null }

// A property of the request and not a WeakMap: it is written and read once a request.
const noted = Symbol('visit')
type Noted = ClientRequest & { [noted]?: Visit }

/** Makes the front of a public listener. */
export const front = ({ live, currentEdge, accounts, pseudonym, draining }: FrontOptions): Front => {
  const answerHop = `1.1 ${pseudonym}`

  /** Begins a visit and sees to its end. */
  const receive = (request: ClientRequest, response: ClientResponse, wire: Wire, edge: Edge, lane: Lane): Visit => {
    const { peer, running, idle } = lane
    const head = readHead(request.rawHeaders, edge.idField, peer.trusted)
    const snapshot = live.current
    const visit = new Visit({
      request,
      response,
      wire,
      snapshot,
      peer,
      head,
      requestId: head.requestId ?? makeId(),
      client: clientAddress(peer, head.forwarded.for, edge.isTrusted),
      startedAt: now(),
      expectsContinue: expectation(request) === 'continue',
      draining: lane.closing ? always : draining,
    })
    running.push(visit)
    snapshot.enter()
    response.on('close', () => {
      if (running.length === 1) running.pop()
      else passOn(running, visit)
      // A connection that closes may linger: its end is seen to.
      if (running.length === 0 && !lane.closing && !request.socket.destroyed) idle?.set(edge.idleMs)
      if (!response.writableFinished) leave(visit)
      visit.exchange?.over()
      snapshot.leave()
      if (visit.exchange?.bodySent === true) visit.body?.free()
      accounts.closed(visit)
    })
    return visit
  }

  /** Hands one of the nine to `enter`, and refuses everything else. */
  const letIn = (visit: Visit, edge: Edge, enter: Enter): void => {
    const { request, response, wire, peer } = visit
    const { routes, isOurs } = edge
    const terms = { routes, isOurs, pseudonym, secure: peer.secure }
    const admitted = wire.flaw(request) ?? admit(request, visit.head, edge.config.listen, terms)
    if ('kind' in admitted) return refuse(visit, new GatewayError(admitted.kind, admitted))
    if (expectation(request) === 'unknown') return refuse(visit, new GatewayError('expectation-failed'))

    open(visit, admitted, `${request.httpVersion} ${pseudonym}`)
    const carrier: Noted = request
    carrier[noted] = visit
    request.url = admitted.operation.path // Fastify routes on the catalog's path, never on the client's spelling
    request.headers = {} // nor does it look at a body: with no length and no type, it parses nothing
    enter(request as IncomingMessage, response as ServerResponse)
  }

  return {
    arrive(request, response, enter) {
      const edge = currentEdge()
      const connection = connectionOf(request.socket, edge)
      if (connection.closing) return parseNoMore(request.socket)
      // Of as many requests as a connection may bring, this is the last: its response says so, and nothing behind it is served.
      connection.closing = ++connection.served >= edge.maxRequests || connection.running.length + 1 >= maxUnderWay
      connection.idle.clear()
      letIn(receive(request, response, http1, edge, connection), edge, enter)
    },

    arriveApart(request, response, wire, enter) {
      const edge = currentEdge()
      const connection = connectionOf(request.socket, edge)
      const closing = ++connection.served >= edge.maxRequests
      const { peer } = connection
      letIn(receive(request, response, wire, edge, { peer, running: [], closing, idle: null }), edge, enter)
    },

    serve(request: Noted) {
      const visit = request[noted]
      if (visit === undefined || visit.exchange === null) return void request.destroy()
      const fail = (error: unknown): void => refuse(visit, GatewayError.from(error))
      const handle = visit.snapshot.handles[visit.exchange.operation.id]
      try {
        handle(visit.exchange).then((answer) => gather(() => relay(visit, answer, answerHop)), fail)
      } catch (error) {
        fail(error) // thrown, not rejected: the reply is hijacked by now, and Fastify would leave it unanswered
      }
    },

    fail(request: Noted, error) {
      const visit = request[noted]
      if (visit === undefined) request.destroy()
      else refuse(visit, GatewayError.from(error))
    },
  }
}

const always = (): boolean => true

// Node reads on for as long as nothing is written, and parses all that a packet holds: without a bound, one connection that pipelines
// would have as many requests under way as it has bytes to send. No proxy and no library pipelines nearly as many.
const maxUnderWay = 100

/** Takes a visit off those of its connection; it is the turn of the answer behind it, which may have been written long ago. */
const passOn = (running: Visit[], visit: Visit): void => {
  running.splice(running.indexOf(visit), 1)
  const [next] = running
  const onTurn = next?.onTurn
  if (next === undefined || onTurn == null) return
  next.onTurn = null
  onTurn()
}

/** Ends what was under way for a client whose connection closed before its answer was complete. */
const leave = (visit: Visit): void => {
  visit.failure ??= new GatewayError('client-gone')
  visit.abort(visit.failure)
}
