import type { Overview, PlacedSection } from '../../core/admin/admin-part.ts'
import { type Html, html } from '../../core/admin/html.ts'
import { badge, formatCount, htmlList, htmlSection, sharedBadge, sinceHtml } from '../../core/admin/page-components.ts'

const limitsSection = ({ at, status: { limits } }: Overview): Html => {
  const { concurrency, rate, eventLoop } = limits
  return htmlSection(
    'limits',
    'Limits',
    htmlList([
      ...concurrency.map(({ key, inFlight, limit }) => {
        const full = inFlight >= limit ? badge('bad', 'full') : null
        return [key, html`${full} ${formatCount(inFlight)} of ${formatCount(limit)}`] as const
      }),
      [
        'Counted',
        rate &&
          (rate.store === 'memory'
            ? 'in memory, by this gateway'
            : html`in ${rate.store}, ${sharedBadge(at, rate)}${rate.server !== null && html`, <span class="url">${rate.server}</span>`}`),
      ],
      [
        'Event loop',
        eventLoop &&
          html`${eventLoop.sheds && badge('bad', 'sheds load')} late by ${eventLoop.delayMs} ms of ${eventLoop.limitMs} ms${eventLoop.sheds && html`, since ${sinceHtml(at, eventLoop.since)}`}${eventLoop.where !== null && ` ${eventLoop.where}`}`,
      ],
    ]),
  )
}

export const pageSections: readonly PlacedSection[] = [
  { after: 'commands', name: 'limits', link: 'Limits', render: limitsSection },
]
