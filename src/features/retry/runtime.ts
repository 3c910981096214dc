import type { Config } from '../../core/config/config.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { RuntimePart, SnapshotContext, SnapshotPart } from '../../core/runtime/runtime-part.ts'
import { byGroup, type Group, type Operation, type Side } from '../../operations.ts'
import type { RetryConfig } from './config.ts'
import { type Idempotency, type RetryAllowance, retryLayer } from './layer.ts'
import { RetryBudget } from './retry-budget.ts'

interface RetryPart extends SnapshotPart {
  /** What all retries to a group share. Null: they are off. */
  readonly budgets: Readonly<Record<Group, RetryBudget | null>>
}

declare module '../../core/runtime/runtime-part.ts' {
  interface SnapshotParts {
    readonly retry: RetryPart
  }
}

const layerRows = (
  { group }: Operation,
  { upstreams }: Config,
  budget: RetryAllowance | null,
  idempotency: Idempotency,
): readonly LayerRow[] => [
  layerRow(
    'retry',
    `upstreams.${group}.retry`,
    upstreams[group].retry,
    ({ attempts }) => `attempts: ${attempts}`,
    (rules) => retryLayer(rules, budget ?? new RetryBudget(rules.budget), idempotency),
  ),
]

export const describe: RuntimePart['describe'] = (config) => ({
  layers: (operation) => layerRows(operation, config, null, { safe: operation.method === 'GET', keyField: null }),
})

export const open: RuntimePart['open'] = () => ({
  acquire({ config }, previous, context): RetryPart {
    const budgets = carryBudgets(config, (previous as RetryPart | null)?.budgets ?? null)
    return {
      budgets,
      layers(operation) {
        const { group } = operation
        const other = context.otherSide(group)
        return layerRows(operation, config, limitByBreakers(budgets[group], group, context), {
          safe: operation.method === 'GET',
          keyField: context.repeatKeyField(operation, config.upstreams[group]),
          candidate: other && {
            keyField: context.repeatKeyField(operation, other.upstream),
            fallback: other.fallback,
          },
        })
      },
    }
  },
})

/** They stay as long as their settings are the same; otherwise every edit would refill them. */
const carryBudgets = ({ upstreams }: Config, before: RetryPart['budgets'] | null): RetryPart['budgets'] =>
  byGroup((group) => {
    const { retry } = upstreams[group]
    return retry && carryBudget(retry, before?.[group] ?? null)
  })

const carryBudget = ({ budget }: RetryConfig, before: RetryBudget | null): RetryBudget =>
  before !== null && before.settings.share === budget.share && before.settings.floor === budget.floor
    ? before
    : new RetryBudget(budget)

/**
 * Limits the retries of a group: none is granted, and none taken from the budget, while the circuit breaker of the side
 * that it would go to rejects it.
 */
const limitByBreakers = (
  budget: RetryBudget | null,
  group: Group,
  { findUpstream }: SnapshotContext,
): RetryAllowance | null => {
  const breakers: Readonly<Record<Side, ReturnType<typeof breakerOf>>> = {
    primary: breakerOf(findUpstream(group, 'primary')),
    candidate: breakerOf(findUpstream(group, 'candidate')),
  }
  if (budget === null || (breakers.primary === null && breakers.candidate === null)) return budget
  const hasCandidate = findUpstream(group, 'candidate') !== null
  return {
    requested: () => budget.requested(),
    take: (side) => breakers[hasCandidate ? (side ?? 'primary') : 'primary']?.state !== 'open' && budget.take(),
  }
}

const breakerOf = (upstream: ReturnType<SnapshotContext['findUpstream']>) => upstream?.breaker ?? null
