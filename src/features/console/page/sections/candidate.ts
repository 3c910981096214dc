import type { Overview } from '../../../../core/admin/api/overview.ts'
import { type Html, html } from '../../../../core/admin/html.ts'
import { formatPercent } from '../../../../core/lib/text/units.ts'
import { type Group, groups } from '../../../../operations.ts'
import { describeShift, isCandidateUp, isWholeShift, type ShiftStatus } from '../../../candidate/shift/shift-state.ts'
import { badge, commandHtml, commandLinks, htmlSection, htmlTable } from '../components.ts'
import type { BadgeTone } from '../row-state.ts'

interface CandidateRow {
  readonly group: Group
  readonly shift: ShiftStatus
  readonly isUp: boolean
}

export const candidateSection = ({ at, promoteCommands, status: { upstreams } }: Overview): Html => {
  const rows = groups.flatMap((group): readonly CandidateRow[] => {
    const { shift, endpoints } = upstreams[group]?.candidate ?? { shift: null, endpoints: [] }
    return shift === null ? [] : [{ group, shift, isUp: isCandidateUp(endpoints) }]
  })
  const promotionOf = ({ group, shift, isUp }: CandidateRow): Html | string => {
    if (!isWholeShift(shift)) return ''
    if (!isUp) return '; no endpoint of it is up'
    const command = promoteCommands?.[group] ?? `lender-gateway shift ${group} --promote`
    return html`; ${commandHtml(command)} prints the file with it as the upstream`
  }
  const clock = (time: string): string => (time.slice(0, 10) === at.slice(0, 10) ? time.slice(11, 19) : time)
  return rows.length === 0
    ? htmlSection('candidates', 'Shift', 'No group has a candidate.')
    : htmlSection(
        'candidates',
        'Shift to candidates',
        htmlTable<CandidateRow>({
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
        }),
      )
}

const stopWords: Readonly<Partial<Record<ShiftStatus['cause'], string>>> = { guard: 'taken back', redis: 'held' }

const shareBadge = ({ share, stopped, cause }: ShiftStatus): Html => {
  if (stopped) return badge(cause === 'guard' ? 'bad' : 'warning', stopWords[cause] ?? 'aborted')
  const tone: BadgeTone = share === 0 ? 'off' : 'notice'
  return badge(tone, formatPercent(share))
}
