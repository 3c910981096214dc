import type { CauseReport } from '../../observe/refusals/causes.ts'

/** Is how often something came of late. Times are milliseconds since the epoch. */
export interface Tally {
  readonly lastMinute: number
  readonly lastQuarter: number
  readonly firstAt: number | null
  readonly lastAt: number | null
}

/** Adds up causes. */
export const tallyOf = (causes: readonly CauseReport[]): Tally => ({
  lastMinute: causes.reduce((sum, { lastMinute }) => sum + lastMinute, 0),
  lastQuarter: causes.reduce((sum, { lastQuarter }) => sum + lastQuarter, 0),
  firstAt: causes.length === 0 ? null : Math.min(...causes.map(({ firstAt }) => firstAt)),
  lastAt: causes.length === 0 ? null : Math.max(...causes.map(({ lastAt }) => lastAt)),
})

/** Writes how many requests it was, and when: `12 requests failed in the last minute`. */
export const counted = ({ lastMinute, lastQuarter }: Tally, what: 'failed' | 'refused'): string => {
  const count = lastMinute > 0 ? lastMinute : lastQuarter
  const verb = what === 'failed' ? 'failed' : count === 1 ? 'was refused' : 'were refused'
  const when = lastMinute > 0 ? 'in the last minute' : 'in the last 15 minutes, none in the last minute'
  return `${requests(count)} ${verb} ${when}`
}

/** Writes `1 request`, `12 requests`. */
export const requests = (count: number): string => `${count} request${count === 1 ? '' : 's'}`

/** Groups by a key, in the order in which keys come. */
export const grouped = <T>(all: readonly T[], keyOf: (one: T) => string): readonly (readonly T[])[] => [
  ...Map.groupBy(all, keyOf).values(),
]
