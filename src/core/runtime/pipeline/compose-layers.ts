import {
  createCandidateRetries,
  createGuardOptions,
  createSideLayer,
  formatGuard,
} from '../../../features/candidate/candidate-layers.ts'
import { type GuardOptions, guardLayer } from '../../../features/candidate/layers/guard.ts'
import { markerLayer, type ShadowDestination } from '../../../features/candidate/layers/shadow.ts'
import { copiesOf, createShadowLayer, formatShadow } from '../../../features/candidate/shadow-layer.ts'
import { type CandidateUse, formatCandidateUse } from '../../../features/candidate/shift/candidate-use.ts'
import { keyFieldOf } from '../../../features/idempotency/idempotency-layer.ts'
import { type RetryAllowance, retryLayer } from '../../../features/retry/layer.ts'
import { RetryBudget } from '../../../features/retry/retry-budget.ts'
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
import { formatMetrics, formatRetry } from './layer-settings.ts'
import { inOrder, type LayerRow, layerRow } from './layer-stack.ts'
import { outOfServiceHandler } from './out-of-service.ts'

export interface LayerStackOptions {
  readonly operation: Operation
  readonly config: Config
  /** Which clients of the operation's group are on its candidate. Null: none are. */
  readonly candidateUse: CandidateUse | null
  /**
   * The budget that all retries to the operation's group share. Null: retries are off, or the handler serves no
   * traffic.
   */
  readonly retryBudget: RetryAllowance | null
  readonly requestMetrics: Pick<RequestMetrics, 'operations'>
  readonly features: readonly Pick<SnapshotPart, 'layers'>[]
  /** Where copies of requests go. Null: none are made, or the handler serves no traffic. */
  readonly shadow: ShadowDestination | null
  /** What the guard of the candidate counts with. Null: there is none, or nothing is to be counted. */
  readonly guard: GuardOptions | null
}

/** Lists the layers around an upstream, the outermost first. */
export const layerTable = (options: LayerStackOptions): readonly LayerRow[] => {
  const { operation, config } = options
  const { metrics } = config
  const { id, group } = operation
  const own = config.operations[id]
  const ownKey = `operations.${id}`
  const upstream = config.upstreams[group]
  const shadow = upstream.candidate?.shadow ?? null
  const getContent = config.listen.getContent === 'forward' ? null : config.listen.getContent
  return inOrder([
    ...options.features.flatMap((part) => part.layers?.(operation) ?? []),
    layerRow('metrics', 'metrics', metrics, formatMetrics, () =>
      inFlightGaugeLayer(options.requestMetrics.operations[id]),
    ),
    ...(operation.method === 'GET'
      ? [layerRow('get-content', 'listen.getContent', getContent, String, () => rejectGetContentLayer, 'forward')]
      : []),
    layerRow('body-limit', `${ownKey}.maxBody`, own.maxBody, formatSize, bodyLimitLayer),
    ...(upstream.candidate === null
      ? []
      : [
          layerRow('side', `upstreams.${group}.candidate.share`, options.candidateUse, formatCandidateUse, (use) =>
            createSideLayer(config, group, use),
          ),
        ]),
    layerRow('deadline', `${ownKey}.deadline`, own.deadline, formatDuration, deadlineLayer),
    ...(shadow === null
      ? []
      : [
          layerRow('shadow-marker', `upstreams.${group}.candidate.shadow.marker`, shadow.marker, String, markerLayer),
          layerRow(
            'shadow',
            `upstreams.${group}.candidate.shadow`,
            copiesOf(operation, shadow),
            formatShadow,
            (rules) => createShadowLayer(config, rules, options.shadow),
          ),
        ]),
    layerRow('retry', `upstreams.${group}.retry`, upstream.retry, formatRetry, (rules) =>
      retryLayer(rules, options.retryBudget ?? new RetryBudget(rules.budget), {
        safe: operation.method === 'GET',
        keyField: keyFieldOf(own.idempotency, upstream.request),
        candidate: options.candidateUse && createCandidateRetries(upstream.candidate, own.idempotency),
      }),
    ),
    ...(upstream.candidate === null
      ? []
      : [
          layerRow(
            'guard',
            `upstreams.${group}.candidate.guard`,
            upstream.candidate.guard,
            formatGuard,
            () => options.candidateUse && guardLayer(options.guard ?? createGuardOptions(config, group, [])),
          ),
        ]),
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
