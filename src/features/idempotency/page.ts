import type { Overview, PlacedSection } from '../../core/admin/admin-part.ts'
import { sinceStart } from '../../core/admin/commands/phrases.ts'
import { type Html, type HtmlValue, html } from '../../core/admin/html.ts'
import {
  badge,
  formatCount,
  formatCounted,
  htmlList,
  htmlSection,
  sharedBadge,
  sinceHtml,
} from '../../core/admin/page-components.ts'
import { formatRoundedSize } from '../../core/lib/text/units.ts'

const idempotencySection = ({ at, status: { idempotency } }: Overview): Html =>
  htmlSection(
    'idempotency',
    'Idempotency',
    idempotency === null
      ? 'No operation has idempotency.'
      : htmlList([
          ['Remembered', html`in ${idempotency.store}${storeBadge(at, idempotency)}`],
          ['Keys', ofMost(idempotency.entries, idempotency.maxEntries, formatCount)],
          ['Responses', ofMost(idempotency.bytes, idempotency.maxBytes, formatRoundedSize)],
          ['In progress', idempotency.inProgress === null ? null : formatCount(idempotency.inProgress)],
          ['Unknown outcomes', idempotency.unknown === null ? null : unknownText(at, idempotency)],
          [
            'Dropped',
            idempotency.dropped === 0 ? null : `${formatCounted(idempotency.dropped, 'response')} ${sinceStart}`,
          ],
          [
            'Rejected',
            idempotency.rejected === 0 ? null : `${formatCounted(idempotency.rejected, 'key')} ${sinceStart}`,
          ],
        ]),
  )

type IdempotencyStatus = NonNullable<Overview['status']['idempotency']>

const storeBadge = (at: string, { store, state, since, reason, where }: IdempotencyStatus): Html | null => {
  if (state === 'unavailable')
    return html`, ${badge('bad', 'does not reply')} ${where} since ${sinceHtml(at, since)}${reason !== null && `: ${reason}`}`
  return store === 'memory' ? null : html`, ${sharedBadge(at, { state, since, reason, where })}`
}

const ofMost = (value: number | null, most: number | null, format: (value: number) => string): HtmlValue =>
  value === null
    ? null
    : html`${most !== null && value >= most && badge('bad', 'full')} ${format(value)}${most !== null && ` of ${format(most)}`}`

const unknownText = (at: string, { unknown, oldestUnknown }: IdempotencyStatus): HtmlValue =>
  oldestUnknown === null
    ? '0'
    : html`${badge('warning', formatCount(unknown ?? 0))} the oldest since ${sinceHtml(at, oldestUnknown)}`

export const pageSections: readonly PlacedSection[] = [
  {
    before: 'certificates',
    name: 'idempotency',
    link: 'Idempotency',
    linkPlace: { after: 'commands' },
    render: idempotencySection,
  },
]
