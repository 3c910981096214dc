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
import { type ShadowReport, zeroShadowDrops, zeroShadowOutcomes } from '../layers/shadow-copies.ts'
import { type DifferenceKind, zeroDifferences, zeroUncompared } from '../observe/compare/comparison.ts'
import { isWholeShift, type ShiftStatus } from '../shift/shift-state.ts'

export const shadowField = field.record({
  sent: field.count,
  /** Copies whose response and whose primary's response are both known. */
  pairs: field.count,
  underWay: field.total,
  /** Requests sent to the primary again, to learn its noise. */
  repeated: field.count,
  outcomes: field.record(field.counts(zeroShadowOutcomes)),
  dropped: field.record(field.counts(zeroShadowDrops)),
})

export const comparedMembers = {
  compared: asNumber,
  equal: asNumber,
  /** In the last five minutes. */
  recent: asObject({ compared: asNumber, equal: asNumber }),
}

const placeMembers = {
  operation: asWord<OperationId>(),
  kind: asWord<DifferenceKind>(),
  /** With `*` for each index and each name that looks like data; for `field`, its name. Empty: the whole body. */
  pointer: asText,
}

const differenceShape = asObject({
  ...placeMembers,
  count: asNumber,
  /** In the last five minutes. */
  recent: asNumber,
  firstAt: asText,
  lastAt: asText,
  /** Of the latest; null: no field carries the request id. */
  requestId: asNullable(asText),
  /** Of the primary's own pairs: too few to be noise. */
  noise: asNumber,
  /** The most frequent first. */
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

/** Milliseconds to the head; null: not known. */
const latencyShape = asObject({ p50: asNullable(asNumber), p95: asNullable(asNumber), p99: asNullable(asNumber) })

const comparedOperationShape = asObject({
  operation: asWord<OperationId>(),
  ...comparedMembers,
  byKind: asObject(asNumbers(zeroDifferences)),
  uncompared: asObject(asNumbers(zeroUncompared)),
  /** Noise was learned from these pairs of the primary's responses. */
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
  /** The worst first. */
  rows: asList(differenceShape),
  /** The number of rows; the page shows only the worst. */
  ways: asNumber,
  /** How often responses differed beyond the listed rows. */
  others: asNumber,
  /** Places where the primary's own responses differ, so they are not compared. */
  noise: asList(asObject({ ...placeMembers, count: asNumber, of: asNumber })),
})

export type ComparisonView = Decoded<typeof comparisonShape>

// As many as a sentence holds; /shadow has all.
const maxPlaces = 3
const maxPairs = 2

type DescribedComparison = Pick<ComparisonView, 'compared' | 'equal' | 'operations' | 'rows' | 'ways' | 'others'>

/** `4120 compared, 99.8 % equal; /grade differs in 9 (A→B 7, A→C 2)`. */
export const describeComparison = (
  { compared, equal, operations, ...differing }: DescribedComparison,
  formatCount: (count: number) => string = String,
): string => {
  const uncompared = describeUncompared(operations, formatCount)
  if (compared === 0) {
    const why = [describeLearning(operations), uncompared].filter((each) => each !== null)
    return `nothing was compared yet${why.length === 0 ? '' : `: ${why.join('; ')}`}`
  }
  const whole = `${formatCount(compared)} compared, ${formatEqualShare(equal, compared)} equal`
  return `${whole}${uncompared === null ? '' : `, ${uncompared}`}${describeRows(differing, formatCount)}`
}

/** `312, 98.7 % equal`. */
export const describeEqual = (
  { compared, equal }: ComparisonView['recent'],
  formatCount: (count: number) => string = String,
): string => (compared === 0 ? 'nothing' : `${formatCount(compared)}, ${formatEqualShare(equal, compared)} equal`)

/** Null: the primary's requests are copied. */
export const describeNoCopies = (shift: Pick<ShiftStatus, 'share' | 'stopped'>): string | null => {
  if (shift.stopped) return 'nothing is copied now'
  return isWholeShift(shift) ? 'nothing is copied now, as the primary gets nothing' : null
}

/** `99.8 %`, rounded down, so that only `all` means all. */
export const formatEqualShare = (equal: number, compared: number): string => {
  if (equal >= compared) return 'all'
  if (equal === 0) return 'none'
  const tenths = Math.floor((equal * 1000) / compared)
  return tenths === 0 ? 'under 0.1 %' : `${tenths / 10} %`
}

/** `/grade differs`. */
export const describePlace = ({ kind, pointer }: Pick<DifferenceView, 'kind' | 'pointer'>): string =>
  `${wholes[kind] ?? describePointer(kind, pointer)} ${verbs[kind] ?? 'differs'}`

const describePointer = (kind: DifferenceKind, pointer: string): string => {
  if (kind === 'field') return `the field ${pointer}`
  return pointer === '' ? 'the body' : pointer
}

/** `A→B`. Null: values are not shown. */
export const describeValues = ({ primary, candidate }: DifferenceView['pairs'][number]): string | null =>
  primary === null || candidate === null ? null : `${primary}→${candidate}`

/** `A→B 7`. Empty for missing and added members, whose kind says it. */
export const listValues = (
  { kind, pairs }: DifferenceView,
  formatCount: (count: number) => string = String,
): readonly string[] =>
  kind === 'missing' || kind === 'added'
    ? []
    : pairs.flatMap((pair) => {
        const values = describeValues(pair)
        return values === null ? [] : [`${values} ${formatCount(pair.count)}`]
      })

const wholes: Readonly<Partial<Record<DifferenceKind, string>>> = {
  failure: 'no whole answer',
  status: 'another status',
  'content-type': 'another content type',
}

const verbs: Readonly<Partial<Record<DifferenceKind, string>>> = {
  failure: 'comes',
  status: 'comes',
  'content-type': 'comes',
  missing: 'is missing',
  added: 'is added',
  type: 'has another type',
  length: 'has another length',
  unreadable: 'cannot be read',
}

const describeRows = (
  { rows, ways, others }: Pick<ComparisonView, 'rows' | 'ways' | 'others'>,
  formatCount: (count: number) => string,
): string => {
  const namesOperations = new Set(rows.map(({ operation }) => operation)).size > 1
  const shown = rows.slice(0, maxPlaces).map((row) => {
    const pairs = listValues(row, formatCount).slice(0, maxPairs)
    const values = pairs.length === 0 ? '' : ` (${pairs.join(', ')})`
    return `${namesOperations ? `${row.operation} ` : ''}${describePlace(row)} in ${formatCount(row.count)}${values}`
  })
  if (shown.length === 0) return ''
  return `; ${shown.join(', ')}${describeMore(others > 0 ? null : ways - shown.length, formatCount)}`
}

/** Null: many. */
export const describeMore = (further: number | null, formatCount: (count: number) => string = String): string => {
  if (further === null) return ', and there are many more ways'
  if (further <= 1) return further === 1 ? ', and there is 1 more way' : ''
  return `, and there are ${formatCount(further)} more ways`
}

/** Operations whose noise is not learned yet. Null: none. */
const describeLearning = (operations: DescribedComparison['operations']): string | null => {
  const learning = operations.filter(
    ({ noisePairs, noisePairsMissing, uncompared }) =>
      noisePairsMissing > 0 && (noisePairs > 0 || uncompared.learning > 0),
  )
  if (learning.length === 0) return null
  const pairs = learning.map(
    ({ operation, noisePairs, noisePairsMissing }) =>
      `${noisePairs} of ${noisePairs + noisePairsMissing} pairs of ${operation}`,
  )
  return `noise is learnt first, and there are ${pairs.join(', ')}`
}

const describeUncompared = (
  operations: DescribedComparison['operations'],
  formatCount: (count: number) => string,
): string | null => {
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

/** `1204 sent (1200 2xx, 4 failed), 31 not sent (30 full, 1 no-room)`. */
export const describeShadow = (
  { sent, outcomes, dropped }: Pick<ShadowReport, 'sent'> & { readonly outcomes: Counts; readonly dropped: Counts },
  formatCount: (count: number) => string = String,
): string => {
  const list = (counts: Counts): readonly string[] =>
    Object.entries(counts).flatMap(([name, count]) => (count === 0 ? [] : [`${formatCount(count)} ${name}`]))
  const notSent = sum(Object.values(dropped))
  const parts = [
    [`${formatCount(sent)} sent`, list(outcomes)] as const,
    ...(notSent === 0 ? [] : [[`${formatCount(notSent)} not sent`, list(dropped)] as const]),
  ]
  return parts.map(([what, of]) => (of.length === 0 ? what : `${what} (${of.join(', ')})`)).join(', ')
}
