import type { FailureKind } from '../../../../core/exchange/failures/failure-table.ts'
import type { HeaderFields } from '../../../../core/exchange/header-fields.ts'
import { escapeSegment } from '../../../../core/lib/plain-object.ts'
import type { OperationId } from '../../../../operations.ts'
import { shorten } from '../../../contract/check/validators.ts'
import { looksLikeData } from '../../../contract/looks-like-data.ts'
import type { CandidateShadowConfig } from '../../config/candidate.ts'
import { type DifferenceKind, differenceKey, type UncomparedReason } from '../shadow-kinds.ts'

/** Called in an idle turn of the event loop. Must not throw. Both bodies are freed on return. */
export type OnShadowPair = (primary: ShadowResponse, candidate: ShadowResponse, request: ShadowedRequest) => void

export interface ShadowedRequest {
  readonly operation: OperationId
  readonly requestId: string | null
}

export interface ShadowResponse {
  /** Null: no head arrived. */
  readonly status: number | null
  readonly fields: HeaderFields
  readonly body: {
    /** Fewer bytes than were sent if `failure` is set, or `bytes` and `sha256` are null. */
    readonly length: number
    /** Null: longer than `maxBody`, or no room. */
    readonly bytes: Buffer | null
    /** Hex. Null: `bytes` is set, or the body is too long to hash. */
    readonly sha256: string | null
  }
  readonly headMs: number | null
  /** Null: complete. */
  readonly failure: FailureKind | null
}

export type ComparedResponse = Omit<ShadowResponse, 'headMs'>

export type CompareConfig = NonNullable<CandidateShadowConfig['compare']>

export type NumberTolerance = NonNullable<CompareConfig['numbers']>

/** Pointers follow RFC 6901, with `*`. */
export type ComparisonRules = Pick<CompareConfig, 'fields' | 'ignore' | 'numbers' | 'arrays'>

export interface Difference {
  readonly kind: DifferenceKind
  /** With `*` for each array index and each name that looks like data; for `field`, its name. Empty: the whole body. */
  readonly pointer: string
  readonly primary: string
  readonly candidate: string
  /** Both texts may be shown: they are no values. */
  readonly isSafe: boolean
}

export type Comparison =
  | { readonly kind: 'uncompared'; readonly why: UncomparedReason }
  | { readonly kind: 'compared'; readonly differences: readonly Difference[]; readonly isCut: boolean }

export class TooManyDifferencesError extends Error {}

/** Null: an array item. */
export type Segment = string | null

export type Differences = ReturnType<typeof createDifferences>

export const createDifferences = (isNoise: (key: string) => boolean, maxCount: number) => {
  const byKey = new Map<string, Difference>()
  /** A cache: {@link looksLikeData} takes longer than comparing a value. */
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
