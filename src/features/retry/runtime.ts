import { isDeepStrictEqual } from 'node:util'
import type { Config, UpstreamConfig } from '../../core/config/config.ts'
import { now } from '../../core/lib/clock.ts'
import { layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { RuntimePart, SnapshotContext, SnapshotPart } from '../../core/runtime/runtime-part.ts'
import { byGroup, type Group, type Operation, type Side } from '../../operations.ts'
import type { RetryConfig } from './config.ts'
import { type Idempotency, type RetryAllowance, retryLayer } from './layer.ts'

// Seconds of `floor` with which a budget starts, and the most that it saves up.
const advanceSeconds = 1

// The requests whose share is saved up: enough for a hiccup, too few to double the load of a failing upstream.
const rememberedRequests = 100

/**
 * Each request adds a share of a token, time adds some more, and each retry takes a token: many retries when few
 * requests fail, hardly any when all fail and retries would keep an overloaded upstream down. The budget starts with an
 * advance on the tokens of time, so time adds none until the advance is over; whenever the budget holds the full
 * advance again, it counts as a new one. So once a steady load of failing requests on a quiet upstream has lasted as
 * long as the advance, its retries are at most the requests' share plus `floor` × time.
 */
export const createRetryBudget = (settings: RetryConfig['budget']) => {
  const { share, floor } = settings
  const floorPerMs = floor / 1000
  // With a floor below one token a second, the first token would never be whole.
  const initialTokens = floor === 0 ? 0 : Math.max(1, floor * advanceSeconds)
  const maxTokens = Math.max(1, initialTokens, share * rememberedRequests)
  const advanceMs = floor === 0 ? 0 : initialTokens / floorPerMs
  let tokens = initialTokens
  /** `floor` adds tokens from this time; in the future while an advance is paid back. */
  let since = now()
  /** Requests whose share has not been added yet. */
  let requests = 0

  const refill = (): void => {
    const at = now()
    if (at > since) {
      if (tokens < initialTokens) tokens = Math.min(initialTokens, tokens + (at - since) * floorPerMs)
      since = at
    }
    tokens = Math.min(maxTokens, tokens + requests * share)
    requests = 0
    if (tokens >= initialTokens) since = at + advanceMs
  }

  return {
    settings,
    /** Once for each request, however often it is sent. */
    requested(): void {
      requests++
    },
    take(): boolean {
      refill()
      if (tokens < 1) return false
      tokens--
      return true
    },
    get left(): number {
      refill()
      return Math.floor(tokens)
    },
  }
}

type RetryBudget = ReturnType<typeof createRetryBudget>

interface RetryPart extends SnapshotPart {
  /** Null: retries are off. */
  readonly budgets: Readonly<Record<Group, RetryBudget | null>>
}

declare module '../../core/runtime/runtime-part.ts' {
  interface SnapshotParts {
    readonly retry: RetryPart
  }
}

const retryRow = ({ group }: Operation, config: Config, budget: RetryAllowance | null, idempotency: Idempotency) =>
  layerRow(
    'retry',
    `upstreams.${group}.retry`,
    config.upstreams[group].retry,
    ({ attempts }) => `attempts: ${attempts}`,
    (rules) => retryLayer(rules, budget ?? createRetryBudget(rules.budget), idempotency),
  )

export const describe: RuntimePart['describe'] = (config) => ({
  layers: (operation) => [retryRow(operation, config, null, { safe: operation.method === 'GET', keyField: null })],
})

export const open: RuntimePart['open'] = () => ({
  acquire({ config }, previous, context): RetryPart {
    const budgets = carryBudgets(config, (previous as RetryPart | null)?.budgets ?? null)
    return {
      budgets,
      layers(operation) {
        const { group } = operation
        const other = context.otherSide(group)
        const keyFieldOf = (upstream: UpstreamConfig) => context.repeatKeyField(operation, upstream)
        const idempotency = {
          safe: operation.method === 'GET',
          keyField: keyFieldOf(config.upstreams[group]),
          candidate: other && { keyField: keyFieldOf(other.upstream), fallback: other.fallback },
        }
        return [retryRow(operation, config, limitByBreakers(budgets[group], group, context), idempotency)]
      },
    }
  },
})

/** Unchanged settings keep their budget; otherwise every edit would refill it. */
const carryBudgets = ({ upstreams }: Config, before: RetryPart['budgets'] | null): RetryPart['budgets'] =>
  byGroup((group) => {
    const { retry } = upstreams[group]
    const carried = before?.[group] ?? null
    if (retry === null || isDeepStrictEqual(carried?.settings, retry.budget)) return retry && carried
    return createRetryBudget(retry.budget)
  })

/** No retry, and no token spent, while the side's circuit breaker would reject it. */
const limitByBreakers = (budget: RetryBudget | null, group: Group, { findUpstream }: SnapshotContext) => {
  const [primary, candidate] = [findUpstream(group, 'primary'), findUpstream(group, 'candidate')]
  if (budget === null || (primary?.breaker ?? candidate?.breaker ?? null) === null) return budget
  return {
    requested: () => budget.requested(),
    take: (side: Side | null) =>
      ((side === 'candidate' && candidate) || primary)?.breaker?.state !== 'open' && budget.take(),
  }
}
