import { allows, type Directive, fieldsOf } from './cache-control.ts'
import { dateOf, explicitLifetime } from './freshness.ts'
import type { CacheRules } from './rules.ts'
import { isHeuristicallyCacheable } from './statuses.ts'
import type { AnswerHead } from './storing.ts'
import { type Validators, validatorsOf } from './validators.ts'

/** Is what an answer says of itself. */
export interface Told {
  readonly directives: readonly Directive[]
  /** Whether it is one client's alone (RFC 9111 §5.2.2.7). */
  readonly isPrivate: boolean
  /** Whether it has to be validated each time (§5.2.2.4). */
  readonly noCache: boolean
  /** Which fields are one client's, or would have to be validated each time, where the rest is neither; lower case (§3.1). */
  readonly withheld: readonly string[]
  /** Whether it has a Date that can be read. */
  readonly isDated: boolean
  /** Its Date, or when it came (RFC 9110 §6.6.1). */
  readonly date: number
  readonly validators: Validators
  /** For how long it says that it is fresh; null: it does not say (§4.2.1). */
  readonly explicitMs: number | null
  /** Whether that may be guessed, from when it was modified (§4.2.2). */
  readonly isGuessed: boolean
}

/** Reads what an answer says of itself, as far as that is what a cache goes by. */
export const toldBy = (
  { status, fields }: AnswerHead,
  directives: readonly Directive[],
  receivedAt: number,
  { heuristic }: CacheRules,
): Told => {
  const ownDate = dateOf(fields, receivedAt)
  const date = ownDate ?? receivedAt
  const validators = validatorsOf(fields, ownDate, receivedAt)
  const ofOne = fieldsOf(directives, 'private')
  const validated = fieldsOf(directives, 'no-cache')
  const explicitMs = explicitLifetime(fields, directives, date, receivedAt)
  // §4.2.2: by its status, or because it says that it may be cached.
  const mayBeGuessed = isHeuristicallyCacheable(status) || allows(directives, 'public')
  return {
    directives,
    isPrivate: isOfAll(ofOne),
    noCache: isOfAll(validated),
    withheld: [...listed(ofOne), ...listed(validated)],
    isDated: ownDate !== null,
    date,
    validators,
    explicitMs,
    isGuessed: heuristic && explicitMs === null && validators.lastModifiedAt !== null && mayBeGuessed,
  }
}

type Named = readonly string[] | 'all' | null

/** Tells whether a directive is about the whole answer: without what it names, the rest could not be read, or not be kept as it should. */
const isOfAll = (named: Named): boolean => named === 'all' || (named?.some(isEssential) ?? false)

const listed = (named: Named): readonly string[] => (isOfAll(named) || named === 'all' ? [] : (named ?? []))

const essential = new Set(['cache-control', 'date', 'etag', 'expires', 'last-modified', 'vary'])

const isEssential = (name: string): boolean => essential.has(name) || name.startsWith('content-')
