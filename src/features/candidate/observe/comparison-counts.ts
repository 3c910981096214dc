import { createHmac } from 'node:crypto'
import { copyText } from '../../../core/lib/buffers.ts'
import { epochMs } from '../../../core/lib/clock.ts'
import { Histogram } from '../../../core/log/metrics/histogram.ts'
import { RollingCounter } from '../../../core/log/rolling-counter.ts'
import { allOperations, byOperation, type OperationId } from '../../../operations.ts'
import { CountedRows, recentRowMs, worstRowFirst } from '../../contract/counted-rows.ts'
import type { CandidateShadowConfig } from '../config/candidate.ts'
import { createComparison } from './compare/compare-answers.ts'
import {
  type CompareConfig,
  type Difference,
  type OnShadowPair,
  type ShadowAnswer,
  type UncomparedReason,
  zeroDifferences,
  zeroUncompared,
} from './compare/comparison.ts'
import {
  type ComparisonReport,
  type ComparisonTotals,
  type DifferenceExample,
  type DifferencePlace,
  type DifferenceRow,
  keepFrequentPairs,
  maxDifferenceRows,
  maxNoisePlaces,
  maxValuePairs,
  Noise,
  placeKey,
} from './comparison-report.ts'

/** A larger decoded body than `maxBody` is not compared. */
export type ComparisonOptions = Omit<CompareConfig, 'minEqual'> & Pick<CandidateShadowConfig, 'maxBody'>

/**
 * One process's differences between a candidate and its primary. Keeps names, pointers, request ids and statuses;
 * values only with `examples`.
 */
export class ComparisonCounts {
  readonly digest: string
  readonly #since = epochMs()
  readonly #compare: ReturnType<typeof createComparison>
  readonly #options: ComparisonOptions
  readonly #key: string
  readonly #operations = byOperation(({ id }) => new OperationComparison(id))
  readonly #rows = new CountedRows<DifferencePlace & { values: ValuePairs }, DifferenceExample>(maxDifferenceRows)
  /** Responses with more differences than are listed. */
  #cut = 0

  /** `key`: the HMAC key for digests of values. */
  constructor(digest: string, options: ComparisonOptions, key: string) {
    this.digest = digest
    this.#options = options
    this.#key = key
    this.#compare = createComparison(options, options.maxBody)
  }

  readonly onPair: OnShadowPair = (primary, candidate, { operation, requestId }) => {
    const counts = this.#operations[operation]
    const { noise } = counts
    counts.observeLatency(primary, candidate)
    const comparison = this.#compare(primary, candidate, noise.has)
    if (comparison.kind === 'uncompared') return counts.countUncompared(comparison.why)
    if (this.#learnsNoise(operation) && !noise.isLearnt) return counts.countUncompared('learning')
    counts.countCompared(comparison.differences)
    if (comparison.differences.length > 0) this.#countRows(operation, comparison.differences, requestId)
    if (comparison.isCut) this.#cut++
  }

  /** Learns from two responses of the primary to one request. */
  readonly onRepeatedPair: OnShadowPair = (first, second, { operation }) => {
    const comparison = this.#compare(first, second, undefined, maxNoisePlaces)
    if (comparison.kind === 'compared') this.#operations[operation].noise.learn(comparison.differences)
  }

  /** Whether the next request goes to the primary again, instead of the candidate. */
  wantsRepeat(operation: OperationId): boolean {
    return this.#learnsNoise(operation) && this.#operations[operation].noise.wantsRepeat()
  }

  readonly onRepeat = (operation: OperationId): void => this.#operations[operation].noise.countRepeat()

  get report(): ComparisonReport {
    const counts = Object.values(this.#operations)
    const rows = this.#rows.list(epochMs()).toSorted(worstRowFirst)
    return {
      digest: this.digest,
      since: this.#since,
      totals: counts.filter(({ isUsed }) => isUsed).map(({ totals }) => totals),
      rows: rows.map(({ values, ...row }) => ({ ...row, ...values.report })),
      others: this.#rows.others + this.#cut,
      noise: counts.flatMap(({ noise }) => noise.rows),
    }
  }

  #learnsNoise(operation: OperationId): boolean {
    return this.#options.noise && repeatable.has(operation)
  }

  #countRows(operation: OperationId, differences: readonly Difference[], id: string | null): void {
    const at = epochMs()
    const requestId = id && copyText(id)
    this.#rows.beginMessage()
    for (const difference of differences) {
      const { kind } = difference
      const pointer = copyText(difference.pointer)
      const place = { operation, kind, pointer }
      const create = () => ({ ...place, values: new ValuePairs(this.#key, this.#options.examples) })
      this.#rows.count(placeKey(place), create, at, { requestId })?.values.count(difference, requestId)
    }
  }
}

// A POST is never sent twice.
const repeatable = new Set(allOperations.filter(({ method }) => method === 'GET').map(({ id }) => id))

class OperationComparison {
  readonly noise: Noise
  readonly #operation: OperationId
  readonly #byKind = { ...zeroDifferences }
  readonly #uncompared = { ...zeroUncompared }
  readonly #latency = { primary: new Histogram(), candidate: new Histogram() }
  readonly #recent = { compared: new RollingCounter(), equal: new RollingCounter() }
  #compared = 0
  #equal = 0

  constructor(operation: OperationId) {
    this.#operation = operation
    this.noise = new Noise(operation)
  }

  get isUsed(): boolean {
    return this.#compared > 0 || this.noise.pairs > 0 || Object.values(this.#uncompared).some((count) => count > 0)
  }

  get totals(): ComparisonTotals {
    const { primary, candidate } = this.#latency
    const at = epochMs()
    const recent = (name: 'compared' | 'equal'): number => this.#recent[name].countWithin(at, recentRowMs)
    return {
      operation: this.#operation,
      compared: this.#compared,
      equal: this.#equal,
      recent: { compared: recent('compared'), equal: recent('equal') },
      byKind: { ...this.#byKind },
      uncompared: { ...this.#uncompared },
      noisePairs: this.noise.pairs,
      noisePairsMissing: this.noise.pairsMissing,
      latency: { primary: primary.report, candidate: candidate.report },
    }
  }

  /** Only where both sides responded, so that both have the same requests. */
  observeLatency({ headMs: primaryMs }: ShadowAnswer, { headMs: candidateMs }: ShadowAnswer): void {
    if (primaryMs === null || candidateMs === null) return
    this.#latency.primary.observe(primaryMs)
    this.#latency.candidate.observe(candidateMs)
  }

  countUncompared(why: UncomparedReason): void {
    this.#uncompared[why]++
  }

  countCompared(differences: readonly Difference[]): void {
    const at = epochMs()
    this.#compared++
    this.#recent.compared.count(at)
    if (differences.length === 0) {
      this.#equal++
      this.#recent.equal.count(at)
    }
    for (const kind of new Set(differences.map((difference) => difference.kind))) this.#byKind[kind]++
  }
}

const maxTextLength = 100

/** Keeps values only with `examples`. */
class ValuePairs {
  readonly #key: string
  readonly #examples: boolean
  readonly #pairs = new Map<string, DifferenceRow['pairs'][number] & { count: number; requestId: string | null }>()
  #others = 0

  /** `key`: for HMACs; one for all workers, new at each start. */
  constructor(key: string, examples: boolean) {
    this.#key = key
    this.#examples = examples
  }

  count({ primary, candidate, isSafe }: Difference, requestId: string | null): void {
    const digest = digestPair(this.#key, primary, candidate)
    const known = this.#pairs.get(digest)
    if (known !== undefined) {
      known.count++
      known.requestId = requestId
    } else if (this.#pairs.size < maxValuePairs) {
      const told = (text: string): string | null => (isSafe || this.#examples ? cut(text) : null)
      this.#pairs.set(digest, { digest, count: 1, requestId, primary: told(primary), candidate: told(candidate) })
    } else this.#others++
  }

  get report(): Pick<DifferenceRow, 'pairs' | 'otherPairs'> {
    const pairs = [...this.#pairs.values()].map((pair) => ({ ...pair }))
    return keepFrequentPairs({ pairs, otherPairs: this.#others })
  }
}

/** Keyed, so that the few values of a grade cannot be guessed. */
const digestPair = (key: string, primary: string, candidate: string): string =>
  createHmac('sha256', key)
    .update(`shadow pair\n${primary.length}\n${primary}${candidate}`)
    .digest()
    .toString('hex', 0, 8)

const cut = (text: string): string =>
  copyText(text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - 1).toWellFormed()}…`)
