import type { Overview, PagePart } from '../../core/admin/admin-part.ts'
import { sinceStart } from '../../core/admin/commands/phrases.ts'
import { type Html, html } from '../../core/admin/html.ts'
import { badge, formatCount, formatCounted, sinceHtml } from '../../core/admin/page-components.ts'
import { formatRoundedSize } from '../../core/lib/text/units.ts'

export const recordRow: Required<PagePart>['recordRow'] = {
  word: 'audit',
  title: 'Audit log',
  cell: ({ at, status: { audit } }) => (audit === null ? 'off, or written by another process' : auditState(at, audit)),
}

const auditState = (at: string, { reason, since, file, count: lines, waitingBytes, lost, disk }: Audit): Html =>
  html`${reason === null ? badge('good', 'written') : badge('bad', 'failing')} since ${sinceHtml(at, since)}${reason !== null && `: ${reason}`}, <span class="url">${file}</span>, its chain has ${formatCounted(lines, 'line')}${waitingBytes > 0 && `, ${formatRoundedSize(waitingBytes)} wait`}${lost > 0 && html`, <strong>${formatCount(lost)} lost</strong> ${sinceStart}`}${disk !== null && `, its disk has ${formatRoundedSize(disk.freeBytes)} free of ${formatRoundedSize(disk.sizeBytes)}`}`

type Audit = NonNullable<Overview['status']['audit']>
