import type { Overview } from '../../../../core/admin/api/overview.ts'
import { type Html, html } from '../../../../core/admin/html.ts'
import { sum } from '../../../../core/log/sum-reports.ts'
import type { ShiftStatus } from '../../../candidate/shift/shift-state.ts'
import {
  type ComparisonView,
  type DifferenceView,
  describeComparison,
  describeEqual,
  describeNoCopies,
  describePlace,
  listValues,
} from '../../../candidate/status/describe-comparison.ts'
import { badge, htmlSection, htmlTable, timeHtml } from '../components.ts'
import { formatCount, formatMilliseconds } from '../format.ts'

export const comparisonSection = ({ at, comparisons, status: { upstreams } }: Overview): Html =>
  htmlSection(
    'comparison',
    'Compared',
    comparisons.length === 0
      ? 'No answers of a candidate are compared.'
      : html`${comparisons.map((each) => verdictParagraph(at, each, upstreams[each.group]?.candidate?.shift ?? null))}${operationsTable(comparisons)}${comparisons.some(({ rows }) => rows.length > 0) && differencesTable(at, comparisons)}`,
  )

const verdictParagraph = (at: string, comparison: ComparisonView, shift: ShiftStatus | null): Html => {
  const { group, since, recent } = comparison
  const why = recent.compared === 0 && shift !== null ? describeNoCopies(shift) : null
  return html`<p id="verdict-${group}">${verdictBadge(comparison)} <b>${group}</b>: ${describeComparison(comparison, formatCount)} <span class="age">since ${timeHtml(at, since)}; in the last 5 min ${describeEqual(recent, formatCount)}${why !== null && html`: ${why}`}</span></p>`
}

const verdictBadge = ({ compared, equal, recent }: ComparisonView): Html => {
  if (compared === 0) return badge('off', 'nothing yet')
  // What was equal before says nothing of a candidate to which no copy gets now.
  if (equal === compared) return badge(recent.compared === 0 ? 'off' : 'good', 'all equal')
  return recent.equal === recent.compared ? badge('notice', 'differed before') : badge('warning', 'differs')
}

interface OperationRow {
  readonly operation: ComparisonView['operations'][number]
}

const operationsTable = (comparisons: readonly ComparisonView[]): Html =>
  htmlTable<OperationRow>({
    id: 'comparison-table',
    caption: 'Answers to the same requests, and the time to their heads: primary → candidate',
    idOf: ({ operation }) => `compared-${operation.operation}`,
    bodies: [{ rows: comparisons.flatMap(({ operations }) => operations.map((operation) => ({ operation }))) }],
    columns: [
      { title: 'Operation', cell: ({ operation }) => html`<b>${operation.operation}</b>` },
      { title: 'Compared', kind: 'number', cell: ({ operation }) => formatCount(operation.compared) },
      { title: 'Differ', kind: 'number', cell: ({ operation }) => formatCount(operation.compared - operation.equal) },
      { title: 'Not compared', kind: 'number', cell: ({ operation }) => formatCount(countUncompared(operation)) },
      ...(['p50', 'p95', 'p99'] as const).map((name) => ({
        title: name,
        kind: 'number' as const,
        cell: ({ operation: { latency } }: OperationRow) =>
          `${formatMilliseconds(latency.primary[name])} → ${formatMilliseconds(latency.candidate[name])}`,
      })),
    ],
  })

const countUncompared = ({ uncompared }: OperationRow['operation']): number => sum(Object.values(uncompared))

const differencesTable = (at: string, comparisons: readonly ComparisonView[]): Html =>
  htmlTable<DifferenceView>({
    id: 'differences-table',
    caption: 'What differs, the worst of the last five minutes first',
    idOf: ({ operation, kind, pointer }) => `difference-${operation}-${kind}-${pointer}`,
    isBad: ({ recent }) => recent > 0,
    bodies: [{ rows: comparisons.flatMap(({ rows }) => rows) }],
    columns: [
      { title: 'Operation', cell: ({ operation }) => html`<b>${operation}</b>` },
      { title: 'What', kind: 'wide', cell: whatCell },
      { title: 'Answers', kind: 'number', cell: ({ count }) => formatCount(count) },
      { title: 'In 5 min', kind: 'number', cell: ({ recent }) => formatCount(recent) },
      { title: 'Since', cell: ({ firstAt }) => timeHtml(at, firstAt) },
      {
        title: 'Last',
        cell: ({ lastAt, requestId }) =>
          html`${timeHtml(at, lastAt)}${requestId !== null && html` <span class="age"><code>${requestId}</code></span>`}`,
      },
    ],
  })

const whatCell = (row: DifferenceView): Html => {
  const values = listValues(row, formatCount)
  return html`${describePlace(row)}${values.length > 0 && html` <span class="age">${values.join(', ')}</span>`}`
}
