import { Alarm, now } from '../clock.ts'
import type { Layer } from '../exchange.ts'
import { GatewayError } from '../failures/errors.ts'

/**
 * Bounds the time until the answer's head, all attempts and waits included. It starts when the request is complete: a long upload is
 * bounded by the gaps between its pieces, never by a total. Until the upload begins it runs too, because what is waited for then is a
 * connection to the upstream, and nothing else would end that. Outside the retries, so that they share one budget of time.
 */
export const deadline =
  (ms: number): Layer =>
  (next) =>
  (exchange) => {
    const { body } = exchange
    const alarm = new Alarm(() => exchange.abort(new GatewayError('deadline-exceeded')))
    const set = (): void => {
      exchange.deadlineAt = now() + ms
      alarm.set(ms)
    }
    const clear = (): void => {
      exchange.deadlineAt = null
      alarm.clear()
    }
    if (body.received || !body.replayable) set() // a small body is read at once
    if (!body.received) {
      body.onReceived = set
      if (!body.replayable) body.onBegun = clear
    }
    const stop = (): void => {
      body.onBegun = null
      body.onReceived = null
      clear()
    }
    return next(exchange).then(
      (answer) => {
        stop()
        return answer
      },
      (error) => {
        stop()
        throw error
      },
    )
  }
