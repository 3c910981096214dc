import { createHmac } from 'node:crypto'
import { copyText } from '../../../core/lib/buffers.ts'
import { epochMs } from '../../../core/lib/clock.ts'
import { Histogram } from '../../../core/log/metrics/histogram.ts'
import { RollingCounter } from '../../../core/log/rolling-counter.ts'
import { allOperations, byOperation, type OperationId } from '../../../operations.ts'
import { createCountedRows, recentRowMs, worstRowFirst } from '../../contract/counted-rows.ts'
import type { CandidateShadowConfig } from '../config/candidate.ts'
import { createComparison } from './compare/compare-responses.ts'
import type { CompareConfig, Difference, OnShadowPair, ShadowResponse } from './compare/comparison.ts'
import {
  type ComparisonReport,
  type ComparisonTotals,
  createNoise,
  type DifferenceExample,
  type DifferencePlace,
  type DifferenceRow,
  keepFrequentPairs,
  maxDifferenceRows,
  maxNoisePlaces,
  maxValuePairs,
  placeKey,
} from './comparison-report.ts'
import { type UncomparedReason, zeroDifferences, zeroUncompared } from './shadow-kinds.ts'

export type ComparisonOptions = Omit<CompareConfig, 'minEqual'> & Pick<CandidateShadowConfig, 'maxBody'>

export type ComparisonCounts = ReturnType<typeof createComparisonCounts>

/** Values are kept only with `examples`. `key`: for HMACs of values. */
export const createComparisonCounts = (digest: string, options: ComparisonOptions, key: string) => {
  const since = epochMs()
  const compare = createComparison(options, options.maxBody)
  const operations = byOperation(({ id }) => createOperationComparison(id))
  const rows = createCountedRows<DifferencePlace & { values: ValuePairs }, DifferenceExample>(maxDifferenceRows)
  let cut = 0

  const learnsNoise = (operation: OperationId): boolean => options.noise && repeatable.has(operation)

  const countRows = (operation: OperationId, differences: readonly Difference[], id: string | null): void => {
    const at = epochMs()
    const requestId = id && copyText(id)
    rows.beginMessage()
    for (const difference of differences) {
      const { kind } = difference
      const pointer = copyText(difference.pointer)
      const place = { operation, kind, pointer }
      const create = () => ({ ...place, values: createValuePairs(key, options.examples) })
      rows.count(placeKey(place), create, at, { requestId })?.values.count(difference, requestId)
    }
  }

  const onPair: OnShadowPair = (primary, candidate, { operation, requestId }) => {
    const counts = operations[operation]
    const { noise } = counts
    counts.observeLatency(primary, candidate)
    const comparison = compare(primary, candidate, noise.has)
    if (comparison.kind === 'uncompared') return counts.countUncompared(comparison.why)
    if (learnsNoise(operation) && !noise.isLearned()) return counts.countUncompared('learning')
    counts.countCompared(comparison.differences)
    if (comparison.differences.length > 0) countRows(operation, comparison.differences, requestId)
    if (comparison.isCut) cut++
  }
  const onRepeatedPair: OnShadowPair = (first, second, { operation }) => {
    const comparison = compare(first, second, undefined, maxNoisePlaces)
    if (comparison.kind === 'compared') operations[operation].noise.learn(comparison.differences)
  }

  return {
    digest,
    onPair,
    onRepeatedPair,
    wantsRepeat: (operation: OperationId) => learnsNoise(operation) && operations[operation].noise.wantsRepeat(),
    onRepeat: (operation: OperationId) => operations[operation].noise.countRepeat(),
    get report(): ComparisonReport {
      const counts = Object.values(operations)
      const sorted = rows.list(epochMs()).toSorted(worstRowFirst)
      return {
        ...{ digest, since },
        totals: counts.flatMap(({ totals }) => totals() ?? []),
        rows: sorted.map(({ values, ...row }) => ({ ...row, ...values.report() })),
        others: rows.others() + cut,
        noise: counts.flatMap(({ noise }) => noise.rows()),
      }
    },
  }
}

// A POST is never sent twice.
const repeatable = new Set(allOperations.filter(({ method }) => method === 'GET').map(({ id }) => id))

const createOperationComparison = (operation: OperationId) => {
  const noise = createNoise(operation)
  const byKind = { ...zeroDifferences }
  const uncompared = { ...zeroUncompared }
  const latency = { primary: new Histogram(), candidate: new Histogram() }
  const recent = { compared: new RollingCounter(), equal: new RollingCounter() }
  let [compared, equal] = [0, 0]
  const isUsed = (): boolean =>
    compared > 0 || noise.pairs() > 0 || Object.values(uncompared).some((count) => count > 0)

  return {
    noise,
    totals(): ComparisonTotals | null {
      if (!isUsed()) return null
      const at = epochMs()
      const recently = (name: 'compared' | 'equal'): number => recent[name].countWithin(at, recentRowMs)
      return {
        ...{ operation, compared, equal },
        recent: { compared: recently('compared'), equal: recently('equal') },
        byKind: { ...byKind },
        uncompared: { ...uncompared },
        noisePairs: noise.pairs(),
        noisePairsMissing: noise.pairsMissing(),
        latency: { primary: latency.primary.report, candidate: latency.candidate.report },
      }
    },
    observeLatency({ headMs: primaryMs }: ShadowResponse, { headMs: candidateMs }: ShadowResponse): void {
      if (primaryMs === null || candidateMs === null) return
      latency.primary.observe(primaryMs)
      latency.candidate.observe(candidateMs)
    },
    countUncompared(why: UncomparedReason): void {
      uncompared[why]++
    },
    countCompared(differences: readonly Difference[]): void {
      const at = epochMs()
      compared++
      recent.compared.count(at)
      if (differences.length === 0) {
        equal++
        recent.equal.count(at)
      }
      for (const kind of new Set(differences.map((difference) => difference.kind))) byKind[kind]++
    },
  }
}

const maxTextLength = 100

type ValuePairs = ReturnType<typeof createValuePairs>

/** `key`: one for all workers, new at each start. */
const createValuePairs = (key: string, examples: boolean) => {
  const known = new Map<string, DifferenceRow['pairs'][number] & { count: number; requestId: string | null }>()
  let otherPairs = 0
  return {
    count({ primary, candidate, isSafe }: Difference, requestId: string | null): void {
      const digest = digestPair(key, primary, candidate)
      const pair = known.get(digest)
      if (pair !== undefined) {
        pair.count++
        pair.requestId = requestId
      } else if (known.size < maxValuePairs) {
        const shown = (text: string): string | null => (isSafe || examples ? cutText(text) : null)
        known.set(digest, { digest, count: 1, requestId, primary: shown(primary), candidate: shown(candidate) })
      } else otherPairs++
    },
    report: () => keepFrequentPairs({ pairs: [...known.values()].map((pair) => ({ ...pair })), otherPairs }),
  }
}

/** Keyed, so that the few values of a grade cannot be guessed. */
const digestPair = (key: string, primary: string, candidate: string): string =>
  createHmac('sha256', key)
    .update(`shadow pair\n${primary.length}\n${primary}${candidate}`)
    .digest()
    .toString('hex', 0, 8)

const cutText = (text: string): string =>
  copyText(text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - 1).toWellFormed()}…`)
