import { parseArgs } from 'node:util'
import { count } from '../bench/options.ts'

export const usage = `npm run soak -- [options]
  --minutes 20          how long everything goes on together
  --workers 1           processes that serve; with several, one is killed every 15 s
  --idle 10000          instead: what so many idle keep-alive connections take of memory
  --slow-readers 200    instead: what so many slow clients, or slow upstreams, take of memory
  --cache               instead: a cache that is asked for many times what it may store
  --http2               instead: clients of HTTP/2 of other makes, and all floods beside them`

/** What is asked for. */
export interface Options {
  readonly minutes: number
  readonly workers: number
  /** Null: not asked for. */
  readonly idle: number | null
  readonly slow: number | null
  readonly cache: boolean
  readonly http2: boolean
}

/** Reads the command line. Throws when it cannot be understood. */
export const readOptions = (args: readonly string[]): Options => {
  const string = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const { values } = parseArgs({
    args: [...args],
    options: { minutes: string, workers: string, idle: string, 'slow-readers': string, cache: flag, http2: flag },
  })
  const { minutes = '20', workers = '1', idle, cache, http2 } = values
  const slow = values['slow-readers']
  if (!(Number(minutes) > 0)) throw new Error(`--minutes: expected a number above 0, got ${minutes}`)
  return {
    minutes: Number(minutes),
    workers: count('workers', workers),
    idle: idle === undefined ? null : count('idle', idle),
    slow: slow === undefined ? null : count('slow-readers', slow),
    cache,
    http2,
  }
}
