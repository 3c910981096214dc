import type { Where } from './find.ts'
import { give } from './order.ts'
import type { Printing } from './print.ts'

/** Has a gateway refuse or serve an operation for a while and prints until when; resolves to the exit code. */
export const operation = (
  state: 'refuse' | 'serve',
  id: string,
  ttl: string,
  options: Where & Printing,
): Promise<number> => {
  const done = `${id} ${state === 'refuse' ? 'is refused' : 'is served'}`
  return give({ path: `/operations/${state}`, body: { operation: id, ttl }, done }, options)
}
