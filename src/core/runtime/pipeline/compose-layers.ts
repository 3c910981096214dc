import type { Operation } from '../../../operations.ts'
import type { Config } from '../../config/config.ts'
import { WholeBody } from '../../exchange/bodies/buffered-bodies.ts'
import { compose, type Exchange, type Handler, type Layer } from '../../exchange/exchange.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { noBytes } from '../../lib/buffers.ts'
import { CoalescedTimer, now } from '../../lib/clock.ts'
import { formatDuration, formatSize } from '../../lib/text/units.ts'
import { inFlightGaugeLayer, type RequestMetrics } from '../../log/metrics/request-metrics.ts'
import type { Override } from '../overrides.ts'
import type { SnapshotPart } from '../runtime-part.ts'
import { inOrder, type LayerRow, layerRow } from './layer-stack.ts'
import { outOfServiceHandler } from './out-of-service.ts'

export interface LayerStackOptions {
  readonly operation: Operation
  readonly config: Config
  readonly requestMetrics: Pick<RequestMetrics, 'operations'>
  readonly features: readonly Pick<SnapshotPart, 'layers'>[]
}

export const layerTable = ({ operation, config, requestMetrics, features }: LayerStackOptions): readonly LayerRow[] => {
  const { id, method } = operation
  const { maxBody, deadline } = config.operations[id]
  const getContent = config.listen.getContent === 'forward' ? null : config.listen.getContent
  return inOrder([
    ...features.flatMap((part) => part.layers?.(operation) ?? []),
    layerRow(
      'metrics',
      'metrics',
      config.metrics,
      ({ clients }) => (clients ? 'clients: true' : 'true'),
      () => inFlightGaugeLayer(requestMetrics.operations[id]),
    ),
    ...(method === 'GET'
      ? [layerRow('get-content', 'listen.getContent', getContent, String, () => rejectGetContentLayer, 'forward')]
      : []),
    layerRow('body-limit', `operations.${id}.maxBody`, maxBody, formatSize, bodyLimitLayer),
    layerRow('deadline', `operations.${id}.deadline`, deadline, formatDuration, deadlineLayer),
  ])
}

export const composeLayers = (options: LayerStackOptions, send: Handler, override: Override | null = null): Handler => {
  const { state } = override ?? options.config.operations[options.operation.id]
  if (state === 'reject') return outOfServiceHandler(override?.endsAt ?? null)
  const layers = layerTable(options).map(({ layer }) => layer)
  return compose(layers, send)
}

/**
 * Content has no defined meaning in a GET (RFC 9110 §9.3.1): a back end that does not read it takes it for the next
 * request (request smuggling). A chunked body without a byte counts as no body.
 */
export const rejectGetContentLayer: Layer = (next) => (exchange) => {
  const { length } = exchange.body
  if (length === 0) return next(exchange)
  return length === null ? awaitEmptyBody(exchange).then(() => next(exchange)) : Promise.reject(contentError())
}

const awaitEmptyBody = async (exchange: Exchange): Promise<void> => {
  const upload = exchange.body.stream((waitsForClient) => {
    exchange.waitsForClient = waitsForClient
  })
  const { done } = await upload[Symbol.asyncIterator]().next()
  upload.stop()
  if (done !== true) throw contentError()
  exchange.body = new WholeBody(noBytes)
}

const contentError = (): GatewayError => new GatewayError('bad-request', { reason: 'get-content' })

/** RFC 9110 §15.5.14. A larger declared length is rejected before anything is forwarded. */
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

/**
 * Limits the time from the complete request (decision 004) to the response's head, over all attempts and waits, and the
 * wait for a connection before an upload begins. Where an outer layer reads the body first, it lasts until the body's
 * end, so that an upstream that drips does not hold the client.
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
    if (body.received || !body.replayable) start()
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
