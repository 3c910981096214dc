import type { FailureKind } from '../../../../core/exchange/failures/failure-table.ts'
import type { HeaderFields } from '../../../../core/exchange/header-fields.ts'
import { escapeSegment } from '../../../../core/lib/plain-object.ts'
import type { OperationId } from '../../../../operations.ts'
import { shorten } from '../../../contract/check/validators.ts'
import { looksLikeData } from '../../../contract/looks-like-data.ts'
import type { CandidateShadowConfig } from '../../config/candidate.ts'

/**
 * Called with both responses, in an idle turn of the event loop. Must not throw. Both bodies are freed on return, so
 * copy whatever is kept.
 */
export type OnShadowPair = (primary: ShadowAnswer, candidate: ShadowAnswer, request: ShadowedRequest) => void

export interface ShadowedRequest {
  readonly operation: OperationId
  /** The id at both sides. Null: no field is configured. */
  readonly requestId: string | null
}

export interface ShadowAnswer {
  /** Null: no head arrived. */
  readonly status: number | null
  /** End-to-end fields as received; empty without a head. */
  readonly fields: HeaderFields
  /** A body longer than `maxBody` has only length and hash. */
  readonly body: {
    /** Bytes read: all, unless `failure` is set, or `bytes` and `sha256` are both null. */
    readonly length: number
    /** Null: longer than `maxBody`, or no room. */
    readonly bytes: Buffer | null
    /** Hex, in place of `bytes`. Null: `bytes` is set, or the body is too long to hash. */
    readonly sha256: string | null
  }
  /** Milliseconds from the sending to the head. Null: no head arrived. */
  readonly headMs: number | null
  /** A fault of the side. Null: the response is complete. */
  readonly failure: FailureKind | null
}

export type ComparedAnswer = Omit<ShadowAnswer, 'headMs'>

export type CompareConfig = NonNullable<CandidateShadowConfig['compare']>

/** A share of the primary's number, or an amount. */
export type NumberTolerance = NonNullable<CompareConfig['numbers']>

/** Compared beyond status, type and body. Pointers follow RFC 6901, with `*`. */
export type ComparisonRules = Pick<CompareConfig, 'fields' | 'ignore' | 'numbers' | 'arrays'>

/**
 * `failure`: only the primary has responded completely. `status`: nothing else is compared then. `field`: one of
 * `compare.fields`. `missing`, `added`: a member, or an item of an unordered array, of one side alone. `type`: of
 * JSON. `length`: of arrays. `bytes`: not compared as JSON. `unreadable`: one body, or both for different reasons.
 */
export const zeroDifferences = {
  failure: 0,
  status: 0,
  'content-type': 0,
  field: 0,
  missing: 0,
  added: 0,
  type: 0,
  value: 0,
  length: 0,
  bytes: 0,
  unreadable: 0,
}

export type DifferenceKind = keyof typeof zeroDifferences

export interface Difference {
  readonly kind: DifferenceKind
  /** With `*` for each array index and each name that looks like data; for `field`, its name. Empty: the whole body. */
  readonly pointer: string
  readonly primary: string
  readonly candidate: string
  /** Both texts may be shown: a status, media type, JSON type or failure, never a value. */
  readonly isSafe: boolean
}

/**
 * `learning`: the operation's noise must be learned first. `primary-failed`: it has not responded, or not completely.
 * `too-large`: beyond the bound, or no room. `coded`: with an unknown content coding. `too-complex`: out of steps.
 * `not-modified`: one status is 304, as validators differ.
 */
export const zeroUncompared = {
  learning: 0,
  'primary-failed': 0,
  'too-large': 0,
  coded: 0,
  'too-complex': 0,
  'not-modified': 0,
}

export type UncomparedReason = keyof typeof zeroUncompared

export type Comparison =
  | { readonly kind: 'uncompared'; readonly why: UncomparedReason }
  /** `isCut`: the rest was not compared. */
  | { readonly kind: 'compared'; readonly differences: readonly Difference[]; readonly isCut: boolean }

export class TooManyDifferencesError extends Error {}

/** A member's name, or null for an array item. */
export type Segment = string | null

export const differenceKey = ({ kind, pointer }: Pick<Difference, 'kind' | 'pointer'>): string => `${kind} ${pointer}`

export type Differences = ReturnType<typeof createDifferences>

/** Collects the first difference of each kind and place. `isNoise` excludes differences by {@link differenceKey}. */
export const createDifferences = (isNoise: (key: string) => boolean, maxCount: number) => {
  const byKey = new Map<string, Difference>()
  /** Names as shown, cached: {@link looksLikeData} takes longer than comparing a value. */
  const segments = new Map<string, string>()
  const toSegment = (name: string): string => {
    const known = segments.get(name)
    if (known !== undefined) return known
    // Pointers are shown, so a name made from data is hidden like a value.
    const segment = looksLikeData(name) ? '/*' : `/${escapeSegment(name)}`
    if (segments.size < 1000) segments.set(name, segment)
    return segment
  }
  return {
    list: (): readonly Difference[] => [...byKey.values()],
    /** `isSafe`: may be shown. Throws {@link TooManyDifferencesError} beyond `maxCount`. */
    add(kind: DifferenceKind, pointer: string, primary: unknown, candidate: unknown, isSafe = false): void {
      const key = differenceKey({ kind, pointer })
      if (byKey.has(key) || isNoise(key)) return
      if (byKey.size === maxCount) throw new TooManyDifferencesError()
      byKey.set(key, { kind, pointer, primary: String(primary), candidate: String(candidate), isSafe })
    },
    toPointer: (path: readonly Segment[]): string =>
      shorten(path.map((segment) => (segment === null ? '/*' : toSegment(segment))).join('')),
  }
}
