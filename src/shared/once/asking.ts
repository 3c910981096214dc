import { type AskAll, batched } from '../limiter/batch.ts'
import type { RedisLink } from '../redis/link.ts'
import { isFirst, type Once, questionOf, type Told, unknown } from './once.ts'

/** How long an answer is waited for that nothing can stand in for, in milliseconds. */
export const needMs = 1000

/** Has another process remember for several that serve. Where it does not answer in time, nobody can tell. */
export const askingOnce = (askAll: AskAll<string, Told>, withinMs: number): Once => {
  const ask = batched(askAll, withinMs)
  return { note: (key, owner) => ask(questionOf(key, owner)).then((told) => told ?? unknown) }
}

/** Is how several gateways remember together. */
export interface Together {
  readonly link: Pick<RedisLink, 'isShared' | 'take'>
  /** What every key begins with. */
  readonly prefix: string
  readonly windowMs: number
  /** What is said of a key that is new here while Redis cannot be asked: `refuse`, that nobody can tell; `serve`, that it is the first time. */
  readonly otherwise: 'refuse' | 'serve'
}

/**
 * Remembers in Redis what is new here. This gateway's own memory is asked first and always: whatever happens to Redis, nothing that came here
 * comes again. In Redis a key is a bucket with room for one, which drains in a window.
 */
export const redisOnce = ({ link, prefix, windowMs, otherwise }: Together, here: Once): Once => {
  const alone = otherwise === 'serve' ? 1 : unknown
  const waitMs = otherwise === 'serve' ? undefined : needMs
  const noteThere = async (key: string): Promise<Told> => {
    if (!link.isShared) return alone
    return (await link.take(prefix + key, 1 / windowMs, 1, waitMs)) ?? alone
  }
  return {
    async note(key, owner) {
      const told = await here.note(key, owner)
      return isFirst(told) ? noteThere(key) : told
    },
  }
}
