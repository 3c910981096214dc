import type { FailureKind } from '../../../../core/exchange/failures/kinds.ts'
import type { HeaderFields } from '../../../../core/exchange/header-fields.ts'
import { escapeSegment } from '../../../../core/lib/text/json-pointer.ts'
import type { OperationId } from '../../../../operations.ts'
import { shorten } from '../../../contract/check/validators.ts'
import { looksLikeData } from '../../../contract/looks-like-data.ts'
import type { CandidateShadowConfig } from '../../config/candidate.ts'

/**
 * Called with what the primary and the candidate of a group answered to the same request. It runs in a turn of the
 * event loop in which nothing waits for it, and must not throw. The bytes of both bodies are freed when it returns: it
 * copies what it keeps.
 */
export type OnShadowPair = (primary: ShadowAnswer, candidate: ShadowAnswer, request: ShadowedRequest) => void

/** A request of which the primary got the original, and the candidate a copy. */
export interface ShadowedRequest {
  readonly operation: OperationId
  /** The id that both got. Null: no field is configured for it. */
  readonly requestId: string | null
}

export interface ShadowAnswer {
  /** Null: no head came. */
  readonly status: number | null
  /** End-to-end fields as they came; empty where no head came. */
  readonly fields: HeaderFields
  readonly body: ShadowBody
  /** From the sending of the request to the head, in milliseconds. Null: no head came. */
  readonly headMs: number | null
  /** Why the answer did not come to its end: a fault of the side. Null: it did. */
  readonly failure: FailureKind | null
}

/** The body of an answer. Of a longer one than is kept, there are the length and the hash alone. */
export interface ShadowBody {
  /** The bytes that were read: all of them, unless `failure` says otherwise, or there are neither bytes nor a hash. */
  readonly length: number
  /** Null: the body is longer than `maxBody`, or there was no room for it. */
  readonly bytes: Buffer | null
  /** SHA-256 in hex, where there are no bytes. Null: there are, or the body is longer than is read. */
  readonly sha256: string | null
}

export type ComparedAnswer = Pick<ShadowAnswer, 'status' | 'fields' | 'body' | 'failure'>

type CompareConfig = NonNullable<CandidateShadowConfig['compare']>

/** How far two numbers may be apart: a share of the primary's number, or an amount. */
export type NumberTolerance = NonNullable<CompareConfig['numbers']>

/** What is compared of two answers, beyond their status, type and body. Pointers are those of RFC 6901, with `*`. */
export type ComparisonRules = Pick<CompareConfig, 'fields' | 'ignore' | 'numbers' | 'arrays'>

/** The kinds of differences, as counts that are all 0. */
export const zeroDifferences = {
  /** The primary has answered, and the candidate has not, or not to the end. */
  failure: 0,
  /** Nothing else is compared then. */
  status: 0,
  'content-type': 0,
  /** One of the response fields that are compared. */
  field: 0,
  /** A member, or an item of an unordered array, that the primary has and the candidate has not. */
  missing: 0,
  /** One that the candidate has and the primary has not. */
  added: 0,
  /** Two values of different JSON types. */
  type: 0,
  value: 0,
  /** Two arrays of different lengths. */
  length: 0,
  /** Two bodies that are not compared as JSON: the lengths or the hashes differ. */
  bytes: 0,
  /** One of two bodies cannot be read as what it says that it is; or each cannot for another reason. */
  unreadable: 0,
}

export type DifferenceKind = keyof typeof zeroDifferences

export interface Difference {
  readonly kind: DifferenceKind
  /**
   * Where it is in the body, with `*` for each index of an array and for each name that looks like data; of `field` the
   * name of the field. Empty: the whole.
   */
  readonly pointer: string
  readonly primary: string
  readonly candidate: string
  /** Whether both texts may be told: they are no values, but a status, a media type, a type of JSON, a failure. */
  readonly isSafe: boolean
}

/** The reasons why two answers are not compared, as counts that are all 0. */
export const zeroUncompared = {
  /** The noise of the operation is learnt first. */
  learning: 0,
  /** The primary has not answered, or not to the end. */
  'primary-failed': 0,
  /** One of the bodies is larger than what is compared, or there was no room for it. */
  'too-large': 0,
  /** One of the bodies has a content coding that the gateway does not read. */
  coded: 0,
  /** The comparison takes too long, and was given up. */
  'too-complex': 0,
  /** One of them says that the client's copy is still good (304): validators of two upstreams differ. */
  'not-modified': 0,
}

export type UncomparedReason = keyof typeof zeroUncompared

export type Comparison =
  | { readonly kind: 'uncompared'; readonly why: UncomparedReason }
  /** `isCut`: there are more differences than are listed, or may be: the rest was not compared. */
  | { readonly kind: 'compared'; readonly differences: readonly Difference[]; readonly isCut: boolean }

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
