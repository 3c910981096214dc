import { readCleared } from '../../cache.ts'
import { isRefusal } from '../../problem.ts'
import { html } from '../html.ts'
import type { Action, Said } from './action.ts'
import { many, paragraphs } from './words.ts'

/** Removes what is stored of one operation, or of all. */
export const clearCache: Action = {
  name: 'clear-cache',
  takes: ['operation'],
  async ask(desk, said) {
    const what = readCleared(query(said))
    if (isRefusal(what)) return what
    const { cache } = await desk.report()
    const { operation } = what
    return {
      title: operation === null ? 'Clear the cache?' : `Clear the cache of ${operation}?`,
      what: paragraphs(
        html`All that is stored ${operation === null ? null : html`of ${operation} `}is removed, for every client. The next requests go to the upstreams, which have more to do until it is stored again.`,
        cache === null ? 'Nothing is cached at present.' : null,
        'This cannot be undone.',
      ),
      ttlMs: null,
      button: 'Clear it',
    }
  },
  async act(orders, said) {
    const done = await orders.clear(query(said))
    if (isRefusal(done)) return done
    const of = done.operation === null ? '' : ` of ${done.operation}`
    return `The cache${of} is cleared: ${many(done.removed, 'answer')} removed.`
  },
}

const query = (said: Said): string => new URLSearchParams(said).toString()
