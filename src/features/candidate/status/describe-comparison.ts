import { ownMember } from '../../../core/lib/plain-object.ts'
import {
  asList,
  asNullable,
  asNumber,
  asNumbers,
  asObject,
  asText,
  asWord,
  type Decoded,
} from '../../../core/lib/text/decode.ts'
import { sum } from '../../../core/log/sum-reports.ts'
import * as field from '../../../core/runtime/status/field.ts'
import type { Group, OperationId } from '../../../operations.ts'
import type { ShadowReport } from '../layers/shadow-copies.ts'
import {
  type DifferenceKind,
  zeroDifferences,
  zeroShadowDrops,
  zeroShadowOutcomes,
  zeroUncompared,
} from '../observe/shadow-kinds.ts'
import { isWholeShift, type ShiftStatus } from '../shift/shift-state.ts'

/** `pairs`: both responses are known. `repeated`: sent to the primary again. */
export const shadowField = field.record({
  sent: field.count,
  pairs: field.count,
  underWay: field.total,
  repeated: field.count,
  outcomes: field.record(field.counts(zeroShadowOutcomes)),
  dropped: field.record(field.counts(zeroShadowDrops)),
})

export const comparedMembers = {
  compared: asNumber,
  equal: asNumber,
  recent: asObject({ compared: asNumber, equal: asNumber }),
}

const placeMembers = {
  operation: asWord<OperationId>(),
  kind: asWord<DifferenceKind>(),
  pointer: asText,
}

const differenceShape = asObject({
  ...placeMembers,
  count: asNumber,
  recent: asNumber,
  firstAt: asText,
  lastAt: asText,
  requestId: asNullable(asText),
  /** Of the primary's own pairs: too few to be noise. */
  noise: asNumber,
  pairs: asList(
    asObject({
      digest: asText,
      count: asNumber,
      requestId: asNullable(asText),
      /** Null: a value, without `compare.examples`. */
      primary: asNullable(asText),
      candidate: asNullable(asText),
    }),
  ),
  otherPairs: asNumber,
})

export type DifferenceView = Decoded<typeof differenceShape>

const latencyShape = asObject({ p50: asNullable(asNumber), p95: asNullable(asNumber), p99: asNullable(asNumber) })

const comparedOperationShape = asObject({
  operation: asWord<OperationId>(),
  ...comparedMembers,
  byKind: asObject(asNumbers(zeroDifferences)),
  uncompared: asObject(asNumbers(zeroUncompared)),
  noisePairs: asNumber,
  noisePairsMissing: asNumber,
  latency: asObject({ primary: latencyShape, candidate: latencyShape }),
})

export const comparisonShape = asObject({
  group: asWord<Group>(),
  verdict: asText,
  since: asText,
  ...comparedMembers,
  shadow: shadowField.decode,
  operations: asList(comparedOperationShape),
  rows: asList(differenceShape),
  /** How many kinds of difference there are; the page shows the most frequent ones. */
  ways: asNumber,
  /** How often responses differed beyond the listed rows. */
  others: asNumber,
  noise: asList(asObject({ ...placeMembers, count: asNumber, of: asNumber })),
})

export type ComparisonView = Decoded<typeof comparisonShape>

type FormatCount = (count: number) => string

const maxPlaces = 3
const maxPairs = 2

type DescribedRows = Pick<ComparisonView, 'rows' | 'ways' | 'others'>

type DescribedComparison = DescribedRows & Pick<ComparisonView, 'compared' | 'equal' | 'operations'>

/** `4120 compared, 99.8 % equal; /grade differs in 9 (A→B 7, A→C 2)`. */
export const describeComparison = (
  { compared, equal, operations, ...differing }: DescribedComparison,
  formatCount: FormatCount = String,
): string => {
  const uncompared = describeUncompared(operations, formatCount)
  if (compared === 0) {
    const why = [describeLearning(operations), uncompared].filter((each) => each !== null)
    return `nothing was compared yet${why.length === 0 ? '' : `: ${why.join('; ')}`}`
  }
  const whole = `${formatCount(compared)} compared, ${formatEqualShare(equal, compared)} equal`
  return `${whole}${uncompared === null ? '' : `, ${uncompared}`}${describeRows(differing, formatCount)}`
}

export const describeEqual = ({ compared, equal }: ComparisonView['recent'], formatCount: FormatCount = String) =>
  compared === 0 ? 'nothing' : `${formatCount(compared)}, ${formatEqualShare(equal, compared)} equal`

export const describeNoCopies = (shift: Pick<ShiftStatus, 'share' | 'stopped'>): string | null => {
  if (shift.stopped) return 'nothing is copied now'
  return isWholeShift(shift) ? 'nothing is copied now: the primary gets no requests' : null
}

/** `99.8 %`, rounded down, so that only `all` means all. */
export const formatEqualShare = (equal: number, compared: number): string => {
  if (equal >= compared) return 'all'
  if (equal === 0) return 'none'
  const tenths = Math.floor((equal * 1000) / compared)
  return tenths === 0 ? 'under 0.1 %' : `${tenths / 10} %`
}

export const describePlace = ({ kind, pointer }: Pick<DifferenceView, 'kind' | 'pointer'>): string => {
  const place = kind === 'field' ? `the field ${pointer}` : pointer || 'the body'
  return (ownMember(placeWords, kind) ?? '{pointer} differs').replace('{pointer}', () => place)
}

/** Null: values are not shown. */
export const describeValues = ({ primary, candidate }: DifferenceView['pairs'][number]): string | null =>
  primary === null || candidate === null ? null : `${primary}→${candidate}`

/** Empty for missing and added members, whose kind says it. */
export const listValues = ({ kind, pairs }: DifferenceView, formatCount: FormatCount = String): readonly string[] => {
  if (kind === 'missing' || kind === 'added') return []
  return pairs.flatMap((pair) => {
    const values = describeValues(pair)
    return values === null ? [] : `${values} ${formatCount(pair.count)}`
  })
}

const placeWords: Readonly<Record<string, string>> = {
  failure: 'the response is incomplete',
  status: 'the status differs',
  'content-type': 'the content type differs',
  missing: '{pointer} is missing',
  added: '{pointer} is added',
  type: '{pointer} has another type',
  length: '{pointer} has another length',
  unreadable: '{pointer} cannot be read',
}

const describeRows = ({ rows, ways, others }: DescribedRows, formatCount: FormatCount): string => {
  const namesOperations = new Set(rows.map(({ operation }) => operation)).size > 1
  const shown = rows.slice(0, maxPlaces).map((row) => {
    const pairs = listValues(row, formatCount).slice(0, maxPairs)
    const values = pairs.length === 0 ? '' : ` (${pairs.join(', ')})`
    return `${namesOperations ? `${row.operation} ` : ''}${describePlace(row)} in ${formatCount(row.count)}${values}`
  })
  if (shown.length === 0) return ''
  return `; ${shown.join(', ')}${describeMore(others > 0 ? null : ways - shown.length, formatCount)}`
}

export const describeMore = (further: number | null, formatCount: FormatCount = String): string => {
  if (further === null) return ', and many more differences'
  if (further <= 1) return further === 1 ? ', and 1 more difference' : ''
  return `, and ${formatCount(further)} more differences`
}

const describeLearning = (operations: DescribedComparison['operations']): string | null => {
  const pairs = operations.flatMap(({ operation, noisePairs: pairs, noisePairsMissing: missing, uncompared }) => {
    const isLearning = missing > 0 && (pairs > 0 || uncompared.learning > 0)
    return isLearning ? [`${pairs} of ${pairs + missing} pairs of ${operation}`] : []
  })
  return pairs.length === 0 ? null : `noise is learned first: ${pairs.join(', ')}`
}

const describeUncompared = (operations: DescribedComparison['operations'], formatCount: FormatCount): string | null => {
  const sums = new Map<string, number>()
  for (const { uncompared } of operations)
    for (const [why, count] of Object.entries(uncompared)) if (count > 0) sums.set(why, (sums.get(why) ?? 0) + count)
  if (sums.size === 0) return null
  const all = sum([...sums.values()])
  const [[only] = ['']] = sums
  const reasons = sums.size === 1 ? only : [...sums].map(([why, count]) => `${formatCount(count)} ${why}`).join(', ')
  return `${formatCount(all)} not compared (${reasons})`
}

type Counts = Readonly<Record<string, number>>

export const describeShadow = (
  { sent, outcomes, dropped }: Pick<ShadowReport, 'sent'> & Readonly<Record<'outcomes' | 'dropped', Counts>>,
  formatCount: FormatCount = String,
): string => {
  const describe = (what: string, count: number, of: Counts): string => {
    const parts = Object.entries(of).flatMap(([name, each]) => (each === 0 ? [] : `${formatCount(each)} ${name}`))
    return `${formatCount(count)} ${what}${parts.length === 0 ? '' : ` (${parts.join(', ')})`}`
  }
  const notSent = sum(Object.values(dropped))
  return describe('sent', sent, outcomes) + (notSent === 0 ? '' : `, ${describe('not sent', notSent, dropped)}`)
}
