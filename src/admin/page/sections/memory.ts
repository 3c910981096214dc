import { roundedSize } from '../../../units.ts'
import type { Overview } from '../../overview.ts'
import { type Html, html } from '../html.ts'
import { links } from '../links.ts'
import { mark } from '../marks.ts'
import { list, section } from '../table.ts'
import { count, since } from '../words.ts'

/** Tells what is stored, and of how much use that is. */
export const cache = ({ at, status: { cache } }: Overview): Html =>
  section(
    'cache',
    'Cache',
    cache === null
      ? html`<p>No operation is cached.</p>`
      : list([
          ['Stored', `${roundedSize(cache.bytes)} of ${roundedSize(cache.maxBytes)}`],
          ['Made room', `${count(cache.evictions)}×`],
          ['Redis', cache.redis && shared(at, cache.redis)],
          ...Object.entries(cache.operations).map(
            ([id, { entries, hitRatio }]) =>
              [
                id,
                html`${count(entries)} stored, ${hitRatio === null ? 'not asked for' : `${(hitRatio * 100).toFixed(1)} % hits`} ${links('cached', id)}`,
              ] as const,
          ),
        ]),
    cache !== null && links('cache', cache),
  )

/** Tells how near the gateway is to what it takes on at most. */
export const limits = ({ at, status: { limits } }: Overview): Html => {
  const { concurrency, rate, eventLoop } = limits
  return section(
    'limits',
    'Limits',
    list([
      ...concurrency.map(
        ({ key, inFlight, limit }) =>
          [key, html`${inFlight >= limit ? mark('bad', 'full') : null} ${count(inFlight)} of ${count(limit)}`] as const,
      ),
      ['Rates are counted', rate && html`in ${rate.store}, ${shared(at, rate)}`],
      [
        'Event loop',
        eventLoop &&
          html`${eventLoop.sheds && mark('bad', 'sheds load')} late by ${eventLoop.delayMs} ms of ${eventLoop.limitMs} ms${eventLoop.sheds && html`, since ${since(at, eventLoop.since)}`}${eventLoop.where !== null && ` ${eventLoop.where}`}`,
      ],
    ]),
  )
}

interface Shared {
  readonly state: 'shared' | 'local'
  readonly since: string
  readonly reason: string | null
  readonly where: string | null
}

const shared = (at: string, { state, since: from, reason, where }: Shared): Html =>
  state === 'shared'
    ? html`${mark('good', 'shared')} since ${since(at, from)}`
    : html`${mark('warning', 'by itself')} ${where} since ${since(at, from)}${reason !== null && `: ${reason}`}`
