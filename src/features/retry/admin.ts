import type { AdminPart, PlacedMetrics } from '../../core/admin/admin-part.ts'
import { finding } from '../../core/admin/findings/finding.ts'
import { seriesFor } from '../../core/admin/metrics/metric.ts'
import { sideKey } from '../../core/exchange/sides.ts'
import { groups } from '../../operations.ts'

export const findOfGroup: NonNullable<AdminPart['findOfGroup']> = (group, { report }) => {
  const { retryBudget } = report.upstreams[group]
  if (retryBudget === null || retryBudget.left >= 1) return []
  return finding('retries-used-up', 'notice', sideKey(group, 'primary'), { group }, (facts) => [
    `the retry budget of ${facts.group} is used up: failed requests are not retried`,
  ])
}

const upstream = seriesFor(['group'], ({ report }) => groups.map((group) => [group, report.upstreams[group]]))

export const metrics: readonly PlacedMetrics[] = [
  {
    after: 'endpoints',
    value: {
      retry_budget_left: upstream.gauge(
        "Retries that the group's budget allows now.",
        ({ retryBudget }) => retryBudget?.left,
      ),
    },
  },
]

export const loadPage = () => import('./page.ts')

export const loadStatusTexts = () => import('./status-text.ts')
