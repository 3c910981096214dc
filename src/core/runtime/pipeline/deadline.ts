import type { Layer } from '../../exchange/exchange.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { CoalescedTimer, now } from '../../lib/clock.ts'

/**
 * Limits the time until the response's head, including all attempts and the waits between them. The time starts when
 * the request is complete: a long upload is limited by the gaps between its chunks, never by a total. It also runs
 * until the upload begins: the exchange then waits for a connection to the upstream, and nothing else would end that
 * wait. The layer stands outside the retries, so that they share one budget of time. Where a layer outside this one
 * reads the body before the head goes on, the time lasts until then: an upstream that drips does not hold the client.
 */
export const deadlineLayer =
  (ms: number): Layer =>
  (next) =>
  (exchange) => {
    const { body } = exchange
    const alarm = new CoalescedTimer(() => exchange.abort(new GatewayError('deadline-exceeded')))
    const start = (): void => {
      exchange.deadlineAt = now() + ms
      alarm.set(ms)
    }
    const clear = (): void => {
      exchange.deadlineAt = null
      alarm.clear()
    }
    if (body.received || !body.replayable) start() // a small body is read at once
    if (!body.received) {
      body.onReceived = start
      if (!body.replayable) body.onStarted = clear
    }
    const stop = (): void => {
      body.onStarted = null
      body.onReceived = null
      clear()
    }
    return next(exchange).then(
      (response) => {
        if (exchange.holdDeadline === null) stop()
        else exchange.holdDeadline(stop)
        return response
      },
      (error) => {
        stop()
        throw error
      },
    )
  }
