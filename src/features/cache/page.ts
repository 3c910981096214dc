import type { Overview, PlacedSection } from '../../core/admin/admin-part.ts'
import { sinceStart } from '../../core/admin/commands/phrases.ts'
import { type Html, html } from '../../core/admin/html.ts'
import { commandLinks, formatCount, htmlList, htmlSection, sharedBadge } from '../../core/admin/page-components.ts'
import { formatRoundedSize } from '../../core/lib/text/units.ts'

const cacheSection = ({ at, status: { cache } }: Overview): Html =>
  htmlSection(
    'cache',
    'Cache',
    cache === null
      ? 'No operation is cached.'
      : htmlList([
          ['Stored', `${formatRoundedSize(cache.bytes)} of ${formatRoundedSize(cache.maxBytes)}`],
          ['Evicted', `${formatCount(cache.evictions)}× ${sinceStart}`],
          [
            'Redis',
            cache.redis && html`${sharedBadge(at, cache.redis)}, <span class="url">${cache.redis.server}</span>`,
          ],
          ...Object.entries(cache.operations).map(
            ([id, { entries, hitRatio }]) =>
              [
                id,
                html`${formatCount(entries)} stored, ${hitRatio === null ? 'no requests' : `${(hitRatio * 100).toFixed(1)} % hits ${sinceStart}`} ${commandLinks('cached', id)}`,
              ] as const,
          ),
        ]),
    cache && commandLinks('cache', cache),
  )

export const pageSections: readonly PlacedSection[] = [
  { before: 'certificates', name: 'cache', link: 'Cache', render: cacheSection },
]
