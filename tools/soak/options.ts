import { parseArgs } from 'node:util'

export const usage = `npm run soak -- [options]
  --minutes 20          how long everything goes on together
  --workers 1           processes that serve; with several, one is killed every 15 s
  --idle 10000          instead: what so many idle keep-alive connections take of memory
  --slow-readers 200    instead: what so many slow clients, or slow upstreams, take of memory
  --cache               instead: a cache that is asked for many times what it may store
  --json FILE           writes everything that was measured
  --snapshot FILE       with --idle: writes a heap snapshot while they are open`

/** What is asked for. */
export interface Options {
  readonly minutes: number
  readonly workers: number
  /** Null: not asked for. */
  readonly idle: number | null
  readonly slow: number | null
  readonly cache: boolean
  readonly json: string | null
  readonly snapshot: string | null
}

/** Reads the command line. Throws when it cannot be understood. */
export const readOptions = (args: readonly string[]): Options => {
  const string = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ minutes: string, workers: string, idle: string, 'slow-readers': string },
      ...{ json: string, snapshot: string, cache: { type: 'boolean' } },
    },
  })
  const { minutes = '20', workers = '1', idle, cache = false, json, snapshot } = values
  const slow = values['slow-readers']
  return {
    minutes: positive('minutes', minutes),
    workers: whole('workers', workers),
    idle: idle === undefined ? null : whole('idle', idle),
    slow: slow === undefined ? null : whole('slow-readers', slow),
    cache,
    json: json ?? null,
    snapshot: snapshot ?? null,
  }
}

const positive = (name: string, text: string): number => {
  const value = Number(text)
  if (!(value > 0)) throw new Error(`--${name}: expected a number above 0, got ${text}`)
  return value
}

const whole = (name: string, text: string): number => {
  const value = positive(name, text)
  if (!Number.isInteger(value)) throw new Error(`--${name}: expected a whole number, got ${text}`)
  return value
}
