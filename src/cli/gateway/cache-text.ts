import { roundedSize } from '../../units.ts'
import type { CacheStatus } from './cache-answer.ts'
import { ago } from './span.ts'
import type { Row } from './table.ts'

/** Writes how much is stored of each cached operation, and of how much use that is; what needs somebody is in capitals. */
export const cacheRows = ({ bytes, maxBytes, redis, operations }: CacheStatus, at: number): readonly Row[] => [
  ['cache', 'entries', 'bytes', 'hits'],
  ...Object.entries(operations).map(([id, { bytes, entries, hitRatio }]): Row => {
    const hits = hitRatio === null ? 'not asked for' : `${(hitRatio * 100).toFixed(1)}%`
    return [id, `${entries}`, roundedSize(bytes), hits]
  }),
  // More than the sum of them: what is on its way, or still read, counts too.
  ['in all', '', `${roundedSize(bytes)} of ${roundedSize(maxBytes)}`],
  ...(redis === null ? [] : [['redis', '', '', redisText(redis, at)]]),
]

const redisText = ({ state, since, reason, where }: NonNullable<CacheStatus['redis']>, at: number): string => {
  if (state === 'shared') return 'shared with other gateways'
  const here = where === null ? '' : ` ${where}`
  return `OF NO USE${here} since ${ago(since, at)}${reason === null ? '' : `: ${reason}`}`
}
