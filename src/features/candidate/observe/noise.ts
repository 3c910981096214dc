import { copyText } from '../../../core/lib/buffers.ts'
import type { OperationId } from '../../../operations.ts'
import type { Difference, DifferenceKind } from './compare/comparison.ts'
import { differenceKey } from './compare/differences.ts'
import { isNoise, type NoiseRow } from './comparison-report.ts'

// So many pairs of the primary's own answers come before the first comparison.
const firstNoisePairs = 5

// The share of the requests that are sent to the primary twice afterwards.
const repeatedShare = 0.01

// A request that fails the second time teaches nothing: others are tried.
const maxFirstRepeats = 2 * firstNoisePairs

/** An operation where more differs from one answer to the next has no comparison worth its name. */
export const maxNoisePlaces = 200

// What the primary answers otherwise in these ways is a fault of its own, and none to be overlooked.
const neverNoise: ReadonlySet<DifferenceKind> = new Set(['failure', 'status', 'content-type', 'unreadable'])

/** What differs between two answers of the primary to one request: times, ids, what comes in any order. */
export class Noise {
  readonly #operation: OperationId
  readonly #places = new Map<string, { readonly place: Omit<NoiseRow, 'count'>; count: number }>()
  #pairs = 0
  #repeats = 0

  constructor(operation: OperationId) {
    this.#operation = operation
  }

  get pairs(): number {
    return this.#pairs
  }

  /** How many more it takes before anything is compared. */
  get pairsMissing(): number {
    return Math.max(0, firstNoisePairs - this.#pairs)
  }

  get isLearnt(): boolean {
    return this.pairsMissing === 0
  }

  get rows(): readonly NoiseRow[] {
    return [...this.#places.values()].map(({ place, count }) => ({ ...place, count }))
  }

  wantsRepeat(): boolean {
    return (!this.isLearnt && this.#repeats < maxFirstRepeats) || Math.random() < repeatedShare
  }

  /** Counts a request that is sent to the primary twice: one that does not come so far is no trial. */
  countRepeat(): void {
    this.#repeats++
  }

  learn(differences: readonly Difference[]): void {
    if (differences.some(({ kind }) => neverNoise.has(kind))) return
    this.#pairs++
    for (const { kind, pointer } of differences) {
      const key = differenceKey({ kind, pointer })
      const known = this.#places.get(key)
      if (known !== undefined) known.count++
      else if (this.#places.size < maxNoisePlaces)
        this.#places.set(key, { place: { operation: this.#operation, kind, pointer: copyText(pointer) }, count: 1 })
    }
  }

  readonly has = (key: string): boolean => {
    const place = this.#places.get(key)
    return place !== undefined && isNoise(place.count, this.#pairs)
  }
}
