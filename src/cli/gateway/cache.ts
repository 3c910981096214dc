import { printable } from '../printable.ts'
import type { Where } from './find.ts'
import { order } from './order.ts'
import type { Printing } from './print.ts'
import { number, shape } from './shape.ts'

/** Says what is to be removed; what is not given does not restrict it. */
export interface What {
  readonly operation: string | undefined
  readonly client: string | undefined
}

/** Has a gateway remove what it has stored and prints how much that was; resolves to the exit code. */
export const clearCache = ({ operation, client }: What, options: Where & Printing): Promise<number> => {
  const query = new URLSearchParams()
  if (operation !== undefined) query.set('operation', operation)
  if (client !== undefined) query.set('client', client)
  const path = query.size === 0 ? '/cache' : `/cache?${query}`
  const answer = shape<{ removed: number }>({ removed: number })
  const done = ({ removed }: { removed: number }): string => {
    const of = operation === undefined ? '' : ` of ${operation}`
    const whose = client === undefined ? '' : client === '' ? ' for no client' : ` for ${printable(client)}`
    return `the cache${of} is cleared${whose}: ${removed} ${removed === 1 ? 'answer' : 'answers'} removed`
  }
  return order({ question: { method: 'DELETE', path }, answer, done, undone: 'has not removed all of it' }, options)
}
