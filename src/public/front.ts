import type { Operation } from '../catalog.ts'
import { now } from '../clock.ts'
import { GatewayError } from '../failures/errors.ts'
import { gather } from '../shared/gather.ts'
import type { Live } from '../snapshot/live.ts'
import { admit } from './admit.ts'
import { type Connection, connectionOf, parseNoMore } from './connection.ts'
import type { CurrentEdge, Edge } from './edge.ts'
import { open } from './open.ts'
import { refuse } from './refuse.ts'
import { relay } from './relay.ts'
import { Visit } from './visit.ts'
import type { ClientRequest, ClientResponse } from './wire.ts'

/** Is what the front needs of the listener that it stands in. */
interface FrontOptions {
  readonly live: Live
  readonly currentEdge: CurrentEdge
  /** The gateway's name in `Via`. */
  readonly pseudonym: string
  readonly draining: () => boolean
}

/** Serves a request, or refuses it. `routed` is the operation that Fastify has found for its path and method; null: none. */
export type Serve = (request: ClientRequest, response: ClientResponse, routed: Operation | null) => void

/** Is where answers wait for their turn: a connection, or a stream of one. */
type Lane = Pick<Connection, 'peer' | 'running' | 'closing'> & { readonly idle: Connection['idle'] | null }

/** Makes the front of a public listener: what stands behind Fastify's routes, and behind none of them. */
export const front = ({ live, currentEdge, pseudonym, draining }: FrontOptions): Serve => {
  const answerHop = `1.1 ${pseudonym}`

  /** Sees to the end of a visit. */
  const begin = (visit: Visit, lane: Lane, { idleMs }: Edge): void => {
    const { request, response, snapshot } = visit
    const { running, idle } = lane
    running.push(visit)
    snapshot.enter()
    response.on('close', () => {
      if (running.length === 1) running.pop()
      else passOn(running, visit)
      // A connection that closes may linger: its end is seen to.
      if (running.length === 0 && !lane.closing && !request.socket.destroyed) idle?.set(idleMs)
      if (!response.writableFinished) leave(visit)
      visit.exchange?.over()
      snapshot.leave()
      if (visit.exchange?.bodySent === true) visit.body?.free()
      visit.totalMs = now() - visit.startedAt
      for (const recorder of snapshot.recorders) recorder.record(visit)
    })
  }

  return (request, response, routed) => {
    const edge = currentEdge()
    const lane = laneOf(request, edge)
    if (lane === null) return parseNoMore(request.socket)
    const visit = new Visit(request, response, live.current, lane.peer, edge, lane.closing ? always : draining)
    begin(visit, lane, edge)
    const fail = (error: unknown): void => refuse(visit, GatewayError.from(error))
    try {
      const { routes, isOurs } = edge
      const terms = { routes, isOurs, pseudonym, secure: visit.peer.secure }
      const admitted = request.flaw() ?? admit(visit, edge.config.listen, terms, routed)
      if (admitted instanceof GatewayError) return refuse(visit, admitted)
      const exchange = open(visit, admitted, `${request.httpVersion} ${pseudonym}`)
      visit.snapshot.handles[exchange.operation.id](exchange).then(
        (answer) => gather(() => relay(visit, answer, answerHop)),
        fail,
      )
    } catch (error) {
      fail(error) // Fastify would leave it unanswered: the reply is hijacked
    }
  }
}

const always = (): boolean => true

// Node reads on for as long as nothing is written, and parses all that a packet holds: without a bound, one connection that pipelines
// would have as many requests under way as it has bytes to send. No proxy and no library pipelines nearly as many.
const maxUnderWay = 100

/** Finds where a request waits for its turn; null: the last request of its connection has come before it. */
const laneOf = ({ multiplexed, socket }: ClientRequest, edge: Edge): Lane | null => {
  const connection = connectionOf(socket, edge)
  if (multiplexed) {
    const closing = ++connection.served >= edge.maxRequests
    return { peer: connection.peer, running: [], closing, idle: null }
  }
  if (connection.closing) return null
  // Of as many requests as a connection may bring, this is the last: its response says so, and nothing behind it is served.
  connection.closing = ++connection.served >= edge.maxRequests || connection.running.length + 1 >= maxUnderWay
  connection.idle.clear()
  return connection
}

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
