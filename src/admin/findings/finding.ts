import type { CauseReport } from '../../observe/refusals/causes.ts'
import { list, nullable, type Shaped, shape, text, word } from '../../shared/shape.ts'
import { time } from '../time.ts'

/** Says how bad it is: requests fail, or records are lost; something is wrong, and most requests are served all the same; worth knowing. */
export type Severity = 'critical' | 'warning' | 'notice'

/** Reads something that is wrong, with its cause in words. */
export const findingShape = shape({
  severity: word<Severity>(),
  /** What it is of: `upstreams.risk`, `operations.market.insights`, `config`, `redis`. */
  about: text,
  /** One sentence, without a full stop. Nothing in it is what a client wrote. */
  cause: text,
  /** What it is made of, a line each: the endpoints of a group that does not serve, say. Empty: the cause says it all. */
  details: list(text),
  /** RFC 3339; null: nobody knows. */
  since: nullable(text),
  /** What shows more; null: there is nothing more to show. */
  command: nullable(text),
})

/** Something that is wrong, with its cause in words. */
export type Finding = Shaped<typeof findingShape>

const ranks: Readonly<Record<Severity, number>> = { critical: 0, warning: 1, notice: 2 }

/** Puts the worst first; of what is as bad, what was found first. */
export const worstFirst = (found: readonly Finding[]): readonly Finding[] =>
  found.toSorted((a, b) => ranks[a.severity] - ranks[b.severity])

/** Makes one; `since` is in ms since the epoch. */
export const finding = (
  severity: Severity,
  about: string,
  cause: string,
  { since = null, command = null, details = [] }: More = {},
): Finding => ({ severity, about, cause, details, since: since === null ? null : time(since), command })

interface More extends Partial<Pick<Finding, 'command' | 'details'>> {
  readonly since?: number | null
}

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
