import { ComparisonCounts } from '../../../features/candidate/observe/comparison-counts.ts'
import type { RetryConfig } from '../../../features/retry/config.ts'
import { RetryBudget } from '../../../features/retry/retry-budget.ts'
import { byGroup, type Group, type Side } from '../../../operations.ts'
import type { Config, UpstreamConfig } from '../../config/config.ts'
import { hashValue } from '../../config/config-hash.ts'
import type { CircuitBreaker } from '../../upstream/health/circuit-breaker.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import { receivesTraffic, shareEndpoint } from '../reload/new-endpoints.ts'
import type { Snapshot } from './snapshot.ts'

/** What goes on from the previous snapshot. */
interface CarriedOver extends Pick<Snapshot, 'retryBudgets' | 'comparisons'> {
  readonly breakers: Readonly<Record<Side, Readonly<Record<Group, CircuitBreaker | null>>>>
}

/**
 * Returns what goes on from the previous snapshot. It is no part of building one, whose closures live as long
 * as the new snapshot: a closure there that sees the previous snapshot would keep it in memory, which keeps the one
 * before, and so every snapshot there ever was.
 */
export const carryOver = (config: Config, previous: Snapshot | null, digestKey: string): CarriedOver => ({
  breakers: {
    primary: byGroup((group) =>
      carryBreaker(config.upstreams[group], previous?.config.upstreams[group], previous?.upstreams[group]),
    ),
    candidate: byGroup((group) =>
      carryBreaker(
        config.upstreams[group].candidate?.upstream,
        previous?.config.upstreams[group].candidate?.upstream,
        previous?.candidates[group],
      ),
    ),
  },
  retryBudgets: byGroup((group) => carryRetryBudget(group, config.upstreams[group].retry, previous)),
  comparisons: byGroup((group) =>
    continueComparison(config.upstreams[group], previous?.comparisons[group] ?? null, digestKey),
  ),
})

/**
 * Returns the retry budget of a group. It stays as long as its settings are the same; otherwise every edit would refill
 * it.
 */
const carryRetryBudget = (group: Group, retry: RetryConfig | null, previous: Snapshot | null): RetryBudget | null => {
  if (retry === null) return null
  const kept = previous?.retryBudgets[group] ?? null
  const before = previous?.config.upstreams[group].retry?.budget
  const same = before?.share === retry.budget.share && before.floor === retry.budget.floor
  return kept !== null && same ? kept : new RetryBudget(retry.budget)
}

/**
 * Returns the circuit breaker of one side of a group: an open one stays open over an edit of something else. Where no
 * endpoint that received traffic goes on receiving it, the breaker is not carried over: it knows of an outage that the
 * operator has just led the traffic around.
 */
const carryBreaker = (
  next: UpstreamConfig | undefined,
  before: UpstreamConfig | undefined,
  running: Upstream | null | undefined,
): CircuitBreaker | null => {
  if (next === undefined || before === undefined || running == null) return null
  const same = JSON.stringify(before.circuitBreaker) === JSON.stringify(next.circuitBreaker)
  const [used, usedBefore] = [next.endpoints.filter(receivesTraffic), before.endpoints.filter(receivesTraffic)]
  return same && shareEndpoint(used, usedBefore) ? running.breaker : null
}

/**
 * Returns the comparison of a group's candidate with its primary: that of the previous snapshot, as long as the same is
 * compared in the same way. A share, a sample or a takeback makes no difference. Null: answers are not compared.
 */
const continueComparison = (
  upstream: UpstreamConfig,
  before: ComparisonCounts | null,
  key: string,
): ComparisonCounts | null => {
  const { candidate } = upstream
  const compare = candidate?.shadow?.compare
  if (!candidate?.shadow || !compare) return null
  const { arrays: unordered, minEqual: _, ...rules } = compare
  const options = { ...rules, unordered, maxBody: candidate.shadow.maxBody }
  const digest = hashValue([options, answeringSide(upstream), answeringSide(candidate.upstream)])
  return before?.digest === digest ? before : new ComparisonCounts(digest, options, key)
}

/** Lists what decides how a side answers. */
const answeringSide = ({ endpoints, host, request, response }: UpstreamConfig): unknown => ({
  endpoints: endpoints.map(({ origin, pathPrefix }) => origin + pathPrefix),
  host,
  request,
  response,
})
