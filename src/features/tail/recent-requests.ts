import type { AdminContext } from '../../core/admin/admin-context.ts'
import { recentRequestMembers, toRecentErrorView } from '../../core/admin/api/recent-errors.ts'
import type { Config } from '../../core/config/config.ts'
import type { FailureKind } from '../../core/exchange/failures/failure-table.ts'
import { asList, asNullable, asNumber, asObject, asText, asWord, type Decoded } from '../../core/lib/text/decode.ts'
import { formatTime } from '../../core/lib/text/format-time.ts'
import { roundToTenths } from '../../core/lib/text/units.ts'
import { sum } from '../../core/log/sum-reports.ts'
import type { RecentRequest } from './runtime.ts'

const recentRequestShape = asObject({
  ...recentRequestMembers,
  /** Null: an upstream's response, or the cache's. */
  kind: asNullable(asWord<FailureKind>()),
  reason: asNullable(asText),
  cache: asNullable(asText),
  totalMs: asNumber,
})

export type RecentRequestView = Decoded<typeof recentRequestShape>

export const recentRequestsShape = asObject({
  requests: asList(recentRequestShape),
  /** Of the requests that ended while an operator watched. */
  total: asNumber,
})

type RecentRequestsResponse = Decoded<typeof recentRequestsShape>

export const watchRecentRequests = async ({
  runEverywhere,
  reloader,
}: Pick<AdminContext, 'runEverywhere' | 'reloader'>): Promise<RecentRequestsResponse> => {
  const { results } = await runEverywhere('watchRequests', {})
  const newestFirst = results.flatMap(({ last }) => last.toReversed()).toSorted((a, b) => b.at - a.at)
  return {
    requests: newestFirst.map((each) => toRecentRequestView(each, reloader.config)),
    total: sum(results.map(({ total }) => total)),
  }
}

const toRecentRequestView = (entry: RecentRequest, config: Config): RecentRequestView => {
  const { at, path: _, error, totalMs, outcome, ...members } = entry
  const cache = outcome?.source === 'cache' ? outcome.outcome : null
  const { kind, reason } = error === null ? { kind: null, reason: null } : toRecentErrorView(error, config)
  return { at: formatTime(at), ...members, cache, kind, reason, totalMs: roundToTenths(totalMs) }
}

export const renderServed = ({ totalMs, cache }: RecentRequestView): string =>
  `${totalMs}ms${cache === null ? '' : `, cache ${cache}`}`
