import { CoalescedTimer, now } from '../../clock.ts'
import type { Layer } from '../../exchange.ts'
import { GatewayError, overloadedError } from '../../failures/errors.ts'
import type { ReasonFor } from '../../failures/reasons.ts'
import { byGroup, byOperation, type Group, type OperationId } from '../../operations.ts'

/** Counts exchanges that are in flight. */
export interface InFlightCounter {
  inFlight: number
}

/**
 * Is what one process has in flight, counted where a bound stands: in all, for each upstream, for each operation, for each client. Snapshots hand it on: what
 * began under an earlier one still counts, whatever the bound was then.
 */
export interface InFlightCounters {
  readonly all: InFlightCounter
  readonly upstreams: Readonly<Record<Group, InFlightCounter>>
  readonly operations: Readonly<Record<OperationId, InFlightCounter>>
  /** By the id of each that has any in flight. */
  readonly clients: Map<string, number>
}

/** Makes the counts of a process that has nothing in flight. */
export const createInFlightCounters = (): InFlightCounters => ({
  all: { inFlight: 0 },
  upstreams: byGroup(() => ({ inFlight: 0 })),
  operations: byOperation(() => ({ inFlight: 0 })),
  clients: new Map(),
})

/**
 * Sheds load: at most `max` exchanges are in flight, the excess is refused at once. One counts until the last byte of its answer has been
 * taken, or it is over: a client that reads slowly holds what it holds. Nothing queues here, since whoever waits in a queue is answered
 * late or not at all, and a queue that is full answers nobody in time. `reason` names the bound.
 */
export const concurrencyLimitLayer = (max: number, count: InFlightCounter, reason: ReasonFor<'overloaded'>): Layer => {
  const release = (): void => {
    count.inFlight--
  }
  return (next) => (exchange) => {
    if (count.inFlight >= max) return Promise.reject(overloadedError(reason))
    count.inFlight++
    exchange.onFinished(release)
    return next(exchange)
  }
}

/**
 * Bounds how many exchanges one client has in flight, which `inFlightGaugeLayer` counts by its id; null: it has no bound. 429 and not 503, because the client is the one that can do something
 * about it, and the gateway has room: operators who count 5xx would be woken by a client that does too much at once. One counts until the last byte
 * of its answer has been taken.
 */
export const clientConcurrencyLimitLayer = (
  limitOf: (client: string) => number | null,
  inFlight: Map<string, number>,
): Layer => {
  const release = (client: string): void => {
    const left = (inFlight.get(client) ?? 1) - 1
    if (left > 0) inFlight.set(client, left)
    else inFlight.delete(client)
  }
  return (next) => (exchange) => {
    const client = exchange.identity?.client
    const limit = client === undefined ? null : limitOf(client)
    if (client === undefined || limit === null) return next(exchange)
    const count = inFlight.get(client) ?? 0
    if (count >= limit) return Promise.reject(tooManyInFlight())
    inFlight.set(client, count + 1)
    exchange.onFinished(() => release(client))
    return next(exchange)
  }
}

/** Whole seconds, and 1 is the least that says anything (RFC 9110 §10.2.3): when one of its own ends, only the client knows. */
const tooManyInFlight = (): GatewayError =>
  new GatewayError('rate-limited', {
    reason: 'client-concurrency',
    cause: 'the client has too many in flight',
    fields: ['Retry-After', '1'],
  })

/**
 * Bounds the time until the answer's head, all attempts and waits included. It starts when the request is complete: a long upload is
 * bounded by the gaps between its pieces, never by a total. Until the upload begins it runs too, because what is waited for then is a
 * connection to the upstream, and nothing else would end that. Outside the retries, so that they share one budget of time.
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
        stop()
        return response
      },
      (error) => {
        stop()
        throw error
      },
    )
  }

/**
 * Bounds the request body. A declared length over it is refused with nothing forwarded; a chunked body is counted while it streams
 * (RFC 9110 §15.5.14). Before the cache and the attempts, so that none of them sees an excess.
 */
export const bodyLimitLayer =
  (maxBytes: number): Layer =>
  (next) =>
  (exchange) => {
    const { body } = exchange
    if (body.length !== null && body.length > maxBytes)
      return Promise.reject(new GatewayError('content-too-large', { reason: 'body-too-large-declared' }))
    body.maxBytes = maxBytes
    return next(exchange)
  }
