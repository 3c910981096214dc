import type { Row } from '../row.ts'
import type { Requirements } from '../script.ts'
import { age } from './age.ts'
import { authorization, credentials } from './authorization.ts'
import { conditions, conditionsAtCaches } from './conditions.ts'
import { dateForms, freshness } from './freshness.ts'
import { heuristics } from './heuristics.ts'
import { ifRange } from './if-range.ts'
import { invalidation } from './invalidation.ts'
import { notModifiedFields } from './not-modified.ts'
import { lists, parsing } from './parsing.ts'
import { ranges, rangesAtCaches } from './ranges.ts'
import { requests } from './requests.ts'
import { extensions, promises, staleness } from './stale.ts'
import { cacheStatus } from './status.ts'
import { storedFields } from './stored-fields.ts'
import { cookies, dates, storing } from './storing.ts'
import { updating } from './updating.ts'
import { validation } from './validation.ts'
import { vary } from './vary.ts'

const rowsOf = (...all: readonly Requirements[]): readonly Row[] => all.flatMap(({ rows }) => rows)

/** All rows by subject. */
export const sections: Readonly<Record<string, readonly Row[]>> = {
  storing: rowsOf(storing, storedFields, dates, cookies),
  freshness: rowsOf(freshness, dateForms, heuristics),
  age: rowsOf(age),
  requests: rowsOf(requests),
  validation: rowsOf(validation, updating),
  conditions: rowsOf(conditionsAtCaches, conditions, notModifiedFields),
  ranges: rowsOf(ranges, rangesAtCaches, ifRange),
  vary: rowsOf(vary),
  invalidation: rowsOf(invalidation),
  stale: rowsOf(staleness, extensions, promises),
  'cache status': rowsOf(cacheStatus),
  authorization: rowsOf(authorization, credentials),
  parsing: rowsOf(parsing, lists),
}

/** All rows. */
export const rows: readonly Row[] = Object.values(sections).flat()
