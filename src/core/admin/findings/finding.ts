import { type Group, type OperationId, operationsById } from '../../../operations.ts'
import type { Config } from '../../config/config.ts'
import type { AttemptReport } from '../../exchange/failures/errors.ts'
import { failureText } from '../../exchange/failures/reasons.ts'
import { asList, asNullable, asObject, asText, asWord, type Decoded } from '../../lib/text/decode.ts'
import { formatDuration, formatSize } from '../../lib/text/units.ts'
import type { ErrorCount } from '../../log/recent-errors/error-counts.ts'
import { groupByKey } from '../../log/row-counts.ts'
import { formatOptionalTime } from '../format-time.ts'
import type { FindingInputs } from './finding-inputs.ts'

/** How long ago a failure is of late, in milliseconds. */
export const recentMs = 60_000

/** How bad findings are, the worst first. */
export const severities = ['critical', 'warning', 'notice'] as const

/**
 * Critical: requests fail, or records are lost. Warning: something is wrong, but most requests are served. Notice:
 * worth knowing.
 */
export type Severity = (typeof severities)[number]

export const findingShape = asObject({
  severity: asWord<Severity>(),
  /** Its subject: `upstreams.risk`, `operations.market.insights`, `config`, `redis`. */
  about: asText,
  /** Of what else it is true: other groups, with the same endpoint. Null: an earlier version of the gateway. */
  alsoAbout: asNullable(asList(asText)),
  /** One sentence, without a full stop. Nothing in it is what a client wrote. */
  cause: asText,
  /**
   * Its parts, a line each: the endpoints of a group that does not serve, for example. Empty: the cause says it all.
   */
  details: asList(asText),
  /** RFC 3339; null: unknown. */
  since: asNullable(asText),
  command: asNullable(asText),
})

export type Finding = Decoded<typeof findingShape>

/** Sorts by severity; findings of the same severity keep their order. */
export const worstFirst = (found: readonly Finding[]): readonly Finding[] =>
  found.toSorted((a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity))

/** `since` is in ms since the epoch. */
export const createFinding = (
  severity: Severity,
  about: string,
  cause: string,
  { since = null, command = null, details = [], alsoAbout = [] }: FindingOptions = {},
): Finding => ({
  severity,
  about,
  alsoAbout,
  cause,
  details,
  since: formatOptionalTime(since),
  command,
})

interface FindingOptions extends Partial<Pick<Finding, 'command' | 'details' | 'alsoAbout'>> {
  readonly since?: number | null
}

/** Formats in which of several workers it is so; empty: in all. */
export const wherePhrase = ({ where }: { readonly where: string | null }): string => (where === null ? '' : ` ${where}`)

/** Joins names as a sentence has them: `a, b and c`. */
export const joinWithAnd = (names: readonly string[]): string =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`

export const unknownPlaces = 'where is not known, since the table is full'

/** Merges equal findings about several groups (`upstreams.GROUP`) into one. */
export const mergeByGroup = (found: readonly Finding[]): readonly Finding[] =>
  groupByKey(found, ({ severity, cause }) => `${severity} ${cause}`).map((same) => {
    const [first] = same
    const [, ...alsoAbout] = new Set(same.map(({ about }) => about))
    const behind = alsoAbout.map((about) => about.replace('upstreams.', ''))
    return behind.length === 0
      ? first
      : { ...first, alsoAbout, cause: `${first.cause} (the same behind ${behind.join(', ')})` }
  })

/** Formats the limit that the body of each of these was larger than, where it was always the same. */
export const maxBodyPhrase = (same: readonly Pick<ErrorCount, 'kind' | 'operation'>[], config: Config): string => {
  if (same[0]?.kind !== 'content-too-large') return ''
  const [limit, ...others] = new Set(
    same.map(({ operation }) => (operation === null ? null : config.operations[operation].maxBody)),
  )
  return limit == null || others.length > 0 ? '' : ` (${formatSize(limit)})`
}

/**
 * Describes in words what went wrong at an endpoint, by its name: `http://risk-a:8080 refuses connections
 * (ECONNREFUSED)`.
 */
export const causePhrase = (
  { kind, reason, operation, lastAt }: ErrorCount,
  endpoint: string,
  inputs: Pick<FindingInputs, 'config' | 'loadedAt'>,
): string =>
  lastFailurePhrase({ kind, reason, status: null }, endpoint) +
  (operation === null ? '' : limitPhrase({ kind, at: lastAt }, groupOfOperation(operation), inputs, operation))

export const lastFailurePhrase = (
  { kind, reason, status }: Pick<AttemptReport, 'kind' | 'reason' | 'status'>,
  endpoint: string,
): string => {
  if (kind === null) return `${endpoint} answered ${status}`
  return withEndpointName(failureText(kind, reason), endpoint)
}

const withEndpointName = (words: string, endpoint: string): string =>
  words.includes('the endpoint') ? words.replace('the endpoint', endpoint) : `${endpoint}: ${words}`

/** Formats the limit that was exceeded; empty for a failure of before the last edit, whose limit may be another. */
export const limitPhrase = (
  { kind, at }: Pick<AttemptReport, 'kind' | 'at'>,
  group: Group,
  { config, loadedAt }: Pick<FindingInputs, 'config' | 'loadedAt'>,
  id: OperationId | null = null,
): string => {
  if (at < loadedAt) return ''
  const { connect, headers } = config.upstreams[group].timeouts
  const deadlineMs = id === null ? null : config.operations[id].deadline
  const limitMs = {
    'connect-timeout': connect,
    'headers-timeout': headers,
    'deadline-exceeded': deadlineMs,
  }[kind as string]
  return limitMs == null ? '' : ` (${formatDuration(limitMs)})`
}

export const groupOfOperation = (id: OperationId): Group => operationsById[id].group
