import { escapeSegment } from '../../../contract/check/json-pointer.ts'
import { shorten } from '../../../contract/check/violations.ts'
import { looksLikeData } from '../../../contract/looks-like-data.ts'
import type { Difference, DifferenceKind } from './comparison.ts'

export class TooManyDifferencesError extends Error {}

/** A segment of a pointer: a member's name, or null for an item of an array. */
export type Segment = string | null

export const differenceKey = ({ kind, pointer }: Pick<Difference, 'kind' | 'pointer'>): string => `${kind} ${pointer}`

/** Collects the differences of two answers: one for each kind and place, the first that was met. */
export class Differences {
  readonly #byKey = new Map<string, Difference>()
  /** How the names that were met are told: whether one is data takes longer to tell than to compare a value. */
  readonly #segments = new Map<string, string>()
  readonly #isNoise: (key: string) => boolean
  readonly #maxCount: number

  /** `isNoise` tells what is left out, by {@link differenceKey}. More than `maxCount` are not told apart. */
  constructor(isNoise: (key: string) => boolean, maxCount: number) {
    this.#isNoise = isNoise
    this.#maxCount = maxCount
  }

  get list(): readonly Difference[] {
    return [...this.#byKey.values()]
  }

  /** Throws {@link TooManyDifferencesError} when there are too many. */
  addAt(path: readonly Segment[], kind: DifferenceKind, primary: unknown, candidate: unknown, isSafe = false): void {
    this.add(kind, this.#toPointer(path), primary, candidate, isSafe)
  }

  /** `isSafe`: both may be told. Throws {@link TooManyDifferencesError} when there are too many. */
  add(kind: DifferenceKind, pointer: string, primary: unknown, candidate: unknown, isSafe = false): void {
    const key = differenceKey({ kind, pointer })
    if (this.#byKey.has(key) || this.#isNoise(key)) return
    if (this.#byKey.size === this.#maxCount) throw new TooManyDifferencesError()
    this.#byKey.set(key, { kind, pointer, primary: String(primary), candidate: String(candidate), isSafe })
  }

  #toPointer(path: readonly Segment[]): string {
    let pointer = ''
    for (const segment of path) pointer += segment === null ? '/*' : this.#toSegment(segment)
    return shorten(pointer)
  }

  #toSegment(name: string): string {
    const known = this.#segments.get(name)
    if (known !== undefined) return known
    // A pointer is kept and shown: a name that was made from data is a value.
    const segment = looksLikeData(name) ? '/*' : `/${escapeSegment(name)}`
    if (this.#segments.size < maxSegments) this.#segments.set(name, segment)
    return segment
  }
}

const maxSegments = 1000
