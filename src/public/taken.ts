import { Alarm } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import { outflow, waitFor } from './outflow.ts'
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
