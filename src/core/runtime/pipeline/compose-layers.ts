import type { Operation } from '../../../operations.ts'
import type { Config } from '../../config/config.ts'
import { compose, type Handler } from '../../exchange/exchange.ts'
import { formatDuration, formatSize } from '../../lib/text/units.ts'
import { inFlightGaugeLayer, type RequestMetrics } from '../../log/metrics/request-metrics.ts'
import type { Override } from '../overrides.ts'
import type { SnapshotPart } from '../runtime-part.ts'
import { bodyLimitLayer } from './body-limit.ts'
import { deadlineLayer } from './deadline.ts'
import { rejectGetContentLayer } from './get-content.ts'
import { inOrder, type LayerRow, layerRow } from './layer-stack.ts'
import { outOfServiceHandler } from './out-of-service.ts'

export interface LayerStackOptions {
  readonly operation: Operation
  readonly config: Config
  readonly requestMetrics: Pick<RequestMetrics, 'operations'>
  readonly features: readonly Pick<SnapshotPart, 'layers'>[]
}

/** Lists the layers around an upstream, the outermost first. */
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

/** `override` is an operator's command, which goes before the file. */
export const composeLayers = (options: LayerStackOptions, send: Handler, override: Override | null = null): Handler =>
  (override ?? options.config.operations[options.operation.id]).state === 'refuse'
    ? outOfServiceHandler(override?.endsAt ?? null)
    : compose(
        layerTable(options).map(({ layer }) => layer),
        send,
      )
