import { time } from '../time.ts'

/** Says how bad it is: requests fail, or records are lost; something is wrong, and most requests are served all the same; worth knowing. */
export type Severity = 'critical' | 'warning' | 'notice'

/** Is something that is wrong, with its cause in words. */
export interface Finding {
  readonly severity: Severity
  /** What it is of: `upstreams.risk`, `operations.market.insights`, `config`, `redis`. */
  readonly about: string
  /** One sentence, without a full stop. Nothing in it is what a client wrote. */
  readonly cause: string
  /** What it is made of, a line each: the endpoints of a group that does not serve, say. Empty: the cause says it all. */
  readonly details: readonly string[]
  /** RFC 3339; null: nobody knows. */
  readonly since: string | null
  /** What shows more; null: there is nothing more to show. */
  readonly command: string | null
}

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
