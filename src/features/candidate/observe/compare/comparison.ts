import type { FailureKind } from '../../../../core/exchange/failures/failure-table.ts'
import type { HeaderFields } from '../../../../core/exchange/header-fields.ts'
import { escapeSegment } from '../../../../core/lib/plain-object.ts'
import type { OperationId } from '../../../../operations.ts'
import { shorten } from '../../../contract/check/validators.ts'
import { looksLikeData } from '../../../contract/looks-like-data.ts'
import type { CandidateShadowConfig } from '../../config/candidate.ts'
import { type DifferenceKind, differenceKey, type UncomparedReason } from '../shadow-kinds.ts'

/**
 * Called with both responses, in an idle turn of the event loop. Must not throw. Both bodies are freed on return, so
 * copy whatever is kept.
 */
export type OnShadowPair = (primary: ShadowResponse, candidate: ShadowResponse, request: ShadowedRequest) => void

export interface ShadowedRequest {
  readonly operation: OperationId
  /** The id at both sides. Null: no field is configured. */
  readonly requestId: string | null
}

export interface ShadowResponse {
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

export type ComparedResponse = Omit<ShadowResponse, 'headMs'>

export type CompareConfig = NonNullable<CandidateShadowConfig['compare']>

/** A share of the primary's number, or an amount. */
export type NumberTolerance = NonNullable<CompareConfig['numbers']>

/** Compared beyond status, type and body. Pointers follow RFC 6901, with `*`. */
export type ComparisonRules = Pick<CompareConfig, 'fields' | 'ignore' | 'numbers' | 'arrays'>

export interface Difference {
  readonly kind: DifferenceKind
  /** With `*` for each array index and each name that looks like data; for `field`, its name. Empty: the whole body. */
  readonly pointer: string
  readonly primary: string
  readonly candidate: string
  /** Both texts may be shown: a status, media type, JSON type or failure, never a value. */
  readonly isSafe: boolean
}

export type Comparison =
  | { readonly kind: 'uncompared'; readonly why: UncomparedReason }
  /** `isCut`: the rest was not compared. */
  | { readonly kind: 'compared'; readonly differences: readonly Difference[]; readonly isCut: boolean }

export class TooManyDifferencesError extends Error {}

/** A member's name, or null for an array item. */
export type Segment = string | null

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
