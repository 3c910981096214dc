import { printable } from '../printable.ts'
import type { Where } from './find.ts'
import { give } from './order.ts'
import type { Printing } from './print.ts'

/** Has an endpoint take no new requests for a while, or take them again, and prints until when; resolves to the exit code. */
export const endpoint = (
  state: 'drain' | 'ready',
  group: string,
  url: string,
  ttl: string,
  options: Where & Printing,
): Promise<number> => {
  const done = `${printable(url)} of ${group} ${state === 'drain' ? 'takes no new requests' : 'takes requests'}`
  return give({ path: `/endpoints/${state}`, body: { group, url, ttl }, done }, options)
}
