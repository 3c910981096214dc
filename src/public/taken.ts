import { Alarm } from '../clock.ts'
import { GatewayError } from '../failures/errors.ts'
import type { ReasonOf } from '../failures/reasons.ts'
import { Pace } from './pace.ts'
import type { Visit } from './visit.ts'

/** Bounds the wait for a client to take the end of an answer, which Node waits for without one. Called when an answer has been written. */
export const awaitTaken = (visit: Visit): void => {
  const { response } = visit
  if (!response.hasTurn) visit.onTurn = () => awaitTaken(visit)
  else if (!response.isTaken) new Outflow(visit).wait()
}

// Of one write the system says when it has taken all of it, and not before.
const writeBytes = 64 * 1024

// Linux says that a full send buffer has room when a third of it is free; it lets the buffer grow to 4 MiB, and may be told to more.
const unseenBytes = 4 * 1024 * 1024

/** The wait for a client to take what was written of an answer. One that takes too little for too long is cut. */
export class Outflow {
  readonly #visit: Visit
  readonly #alarm: Alarm
  readonly #pace: Pace | null

  constructor(visit: Visit) {
    this.#visit = visit
    this.#alarm = new Alarm(() => cut(visit, 'takes-nothing', 'takes nothing'))
    this.#pace = paceOf(visit)
    visit.response.on('close', () => this.end())
  }

  /** Waits from now on, or from the turn of the answer on: before that the client can take none of it. */
  wait(): void {
    const visit = this.#visit
    const { request, response } = visit
    if (!response.hasTurn) {
      visit.onTurn = () => this.wait()
      return
    }
    const { socket } = request
    const moved = request.multiplexed
      ? () => visit.bytesOut - response.writableLength
      : () => socket.bytesWritten - socket.writableLength
    this.#alarm.set(visit.snapshot.config.listen.timeouts.body)
    this.#pace?.wait(visit, moved, writeBytes, () => cut(visit, 'takes-too-slowly', 'takes less than listen.minRate'))
  }

  /** Waits no longer. */
  end(): void {
    this.#visit.onTurn = null
    this.#alarm.clear()
    this.#pace?.go(this.#visit)
  }
}

const cut = (visit: Visit, reason: ReasonOf<'client-gone'>, cause: string): void =>
  visit.cut(new GatewayError('client-gone', { reason, cause: new Error(cause) }))

const paces = new WeakMap<object, Pace>()

/**
 * Finds the pace at which a client takes its answers; null: no rate is asked for. On HTTP/1 it is that of the connection, so that many small
 * answers count like a large one; what shares its connection with others is on its own.
 */
const paceOf = ({ snapshot, request }: Visit): Pace | null => {
  const { minRate } = snapshot.config.listen
  if (minRate === null) return null
  const key = request.multiplexed ? request : request.socket
  const known = paces.get(key)
  if (known !== undefined) return known
  const pace = new Pace(minRate, unseenBytes)
  paces.set(key, pace)
  return pace
}
