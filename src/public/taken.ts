import { Alarm } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import { Pace } from './pace.ts'
import type { Visit } from './visit.ts'

/** Says why a client that does not read is cut. */
export const takesNothing = (): GatewayError =>
  new GatewayError('client-gone', { reason: 'takes-nothing', cause: new Error('takes nothing') })

/** Bounds the wait for a client to take the end of an answer, which Node waits for without one. Called when an answer has been written. */
export const awaitTaken = (visit: Visit): void => {
  const { response, snapshot, wire } = visit
  if (!wire.hasTurn(response)) {
    visit.onTurn = () => awaitTaken(visit)
    return
  }
  if (wire.isTaken(response)) return
  const alarm = new Alarm(() => visit.cut(takesNothing()))
  alarm.set(snapshot.config.listen.bodyTimeoutMs)
  const pace = outflow(visit)
  if (pace !== null) waitFor(pace, visit)
  response.once('close', () => {
    alarm.clear()
    pace?.go(visit)
  })
}

// Of one write the system says when it has taken all of it, and not before.
const writeBytes = 64 * 1024

// Linux says that a full send buffer has room when a third of it is free; it lets the buffer grow to 4 MiB, and may be told to more.
const unseenBytes = 4 * 1024 * 1024

const paces = new WeakMap<object, Pace>()

/**
 * Finds the pace at which a client takes its answers; null: no rate is asked for. On HTTP/1 it is that of the connection, so that many small
 * answers count like a large one; what shares its connection with others is on its own.
 */
export const outflow = ({ snapshot, request }: Visit): Pace | null => {
  const { minBytesPerSecond } = snapshot.config.listen
  if (minBytesPerSecond === null) return null
  const key = request.wire.multiplexed ? request : request.socket
  const known = paces.get(key)
  if (known !== undefined) return known
  const pace = new Pace(minBytesPerSecond, unseenBytes)
  paces.set(key, pace)
  return pace
}

/** Waits for the client to take what was written. */
export const waitFor = (pace: Pace, visit: Visit): void => {
  const { request, response } = visit
  const { socket } = request
  const moved = request.wire.multiplexed
    ? () => visit.bytesOut - response.writableLength
    : () => socket.bytesWritten - socket.writableLength
  pace.wait(visit, moved, writeBytes, () => visit.cut(takesTooSlowly()))
}

const takesTooSlowly = (): GatewayError =>
  new GatewayError('client-gone', { reason: 'takes-too-slowly', cause: new Error('takes less than listen.minRate') })
