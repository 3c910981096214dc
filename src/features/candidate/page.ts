import type { Overview, PlacedSection } from '../../core/admin/admin-part.ts'
import { sinceStart } from '../../core/admin/commands/phrases.ts'
import { type Html, html } from '../../core/admin/html.ts'
import {
  badge,
  commandHtml,
  commandLinks,
  formatCount,
  formatMilliseconds,
  htmlSection,
  htmlTable,
  type TableColumn,
  timeHtml,
} from '../../core/admin/page-components.ts'
import { formatPercent } from '../../core/lib/text/units.ts'
import { sum } from '../../core/log/sum-reports.ts'
import type { UpstreamStatus } from '../../core/runtime/status/upstreams.ts'
import { groups, type Side } from '../../operations.ts'
import { describeShift, isCandidateUp, isWholeShift, type ShiftStatus } from './shift/shift-state.ts'
import {
  type ComparisonView,
  type DifferenceView,
  describeComparison,
  describeEqual,
  describeNoCopies,
  describePlace,
  describeShadow,
  listValues,
} from './status/describe-comparison.ts'

const candidateSection = ({ at, promoteCommands, status: { upstreams } }: Overview): Html => {
  const rows = groups.flatMap((group) => {
    const { shift, endpoints } = upstreams[group]?.candidate ?? { shift: null, endpoints: [] }
    return shift === null ? [] : [{ group, shift, endpoints }]
  })
  const promotionOf = ({ group, shift, endpoints }: (typeof rows)[number]): Html | string => {
    if (!isWholeShift(shift)) return ''
    if (!isCandidateUp(endpoints)) return '; no endpoint of it is up'
    const command = promoteCommands?.[group] ?? `lender-gateway shift ${group} --promote`
    return html`; ${commandHtml(command)} prints the file with it as the upstream`
  }
  const clock = (time: string): string => (time.slice(0, 10) === at.slice(0, 10) ? time.slice(11, 19) : time)
  if (rows.length === 0) return htmlSection('candidates', 'Shift', 'No group has a candidate.')
  const table = htmlTable<(typeof rows)[number]>({
    id: 'candidates-table',
    caption: 'How much of each group goes to its candidate',
    idOf: ({ group }) => `candidate-${group}`,
    isBad: ({ shift }) => shift.stopped && shift.cause === 'guard',
    bodies: [{ rows }],
    columns: [
      { title: 'Group', cell: ({ group }) => html`<b>${group}</b>` },
      { title: 'Share', cell: ({ shift }) => shareBadge(shift) },
      {
        title: 'Gets',
        kind: 'wide',
        cell: (row) => html`${describeShift(row.shift, { since: clock, until: clock })}${promotionOf(row)}`,
      },
      { title: 'Do', kind: 'act', cell: (row) => commandLinks('candidate', row) },
    ],
  })
  return htmlSection('candidates', 'Shift to candidates', table)
}

const shareBadge = ({ share, stopped, cause }: ShiftStatus): Html => {
  if (!stopped) return badge(share === 0 ? 'off' : 'notice', formatPercent(share))
  return cause === 'guard' ? badge('bad', 'taken back') : badge('warning', cause === 'redis' ? 'held' : 'aborted')
}

const comparisonSection = ({ at, comparisons, status: { upstreams } }: Overview): Html =>
  htmlSection(
    'comparison',
    'Compared',
    comparisons.length === 0
      ? 'No responses of a candidate are compared.'
      : html`${comparisons.map((each) => verdictParagraph(at, each, upstreams[each.group]?.candidate?.shift ?? null))}${operationsTable(comparisons)}${comparisons.some(({ rows }) => rows.length > 0) && differencesTable(at, comparisons)}`,
  )

const verdictParagraph = (at: string, comparison: ComparisonView, shift: ShiftStatus | null): Html => {
  const { group, since, recent } = comparison
  const why = recent.compared === 0 && shift !== null ? describeNoCopies(shift) : null
  return html`<p id="verdict-${group}">${verdictBadge(comparison)} <b>${group}</b>: ${describeComparison(comparison, formatCount)} <span class="age">since ${timeHtml(at, since)}; in the last 5 min ${describeEqual(recent, formatCount)}${why !== null && html`: ${why}`}</span></p>`
}

const verdictBadge = ({ compared, equal, recent }: ComparisonView): Html => {
  if (compared === 0) return badge('off', 'nothing yet')
  // Without new copies, earlier equal responses say nothing about the candidate.
  if (equal === compared) return badge(recent.compared === 0 ? 'off' : 'good', 'all equal')
  return recent.equal === recent.compared ? badge('notice', 'differed before') : badge('warning', 'differs')
}

const operationsTable = (comparisons: readonly ComparisonView[]): Html =>
  htmlTable<ComparisonView['operations'][number]>({
    id: 'comparison-table',
    caption: 'Responses to the same requests, and the time to their heads: primary → candidate',
    idOf: ({ operation }) => `compared-${operation}`,
    bodies: [{ rows: comparisons.flatMap(({ operations }) => operations) }],
    columns: [
      { title: 'Operation', cell: ({ operation }) => html`<b>${operation}</b>` },
      { title: 'Compared', kind: 'number', cell: ({ compared }) => formatCount(compared) },
      { title: 'Differ', kind: 'number', cell: ({ compared, equal }) => formatCount(compared - equal) },
      { title: 'Not compared', kind: 'number', cell: ({ uncompared }) => formatCount(sum(Object.values(uncompared))) },
      ...(['p50', 'p95', 'p99'] as const).map((title): TableColumn<ComparisonView['operations'][number]> => {
        const cell = ({ latency: { primary, candidate } }: ComparisonView['operations'][number]) =>
          `${formatMilliseconds(primary[title])} → ${formatMilliseconds(candidate[title])}`
        return { title, kind: 'number', cell }
      }),
    ],
  })

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
      { title: 'Responses', kind: 'number', cell: ({ count }) => formatCount(count) },
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

export const pageSections: readonly PlacedSection[] = [
  { after: 'upstreams', name: 'candidates', link: 'Shift', render: candidateSection },
  { after: 'upstreams', name: 'comparison', link: 'Compared', render: comparisonSection },
]

export const sideFact = ({ candidate }: UpstreamStatus, side: Side): Html | null => {
  const shadow = side === 'candidate' ? (candidate?.shadow ?? null) : null
  return shadow && html`, copies: ${describeShadow(shadow, formatCount)} ${sinceStart}`
}
