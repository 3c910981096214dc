import { type Status, status } from './answers.ts'
import { flag, list, nullable, number, type Read, shape, text } from './shape.ts'

/** Is what `GET /overview` tells, as far as it is shown. */
export interface Overview {
  readonly status: Status
  readonly operations: readonly OperationStatus[]
}

/** Is one of the nine. Rates are of a second. */
export interface OperationStatus {
  readonly id: string
  readonly state: string
  /** Whether every request fails; null: an older gateway does not say. */
  readonly failing: boolean | null
  /** Null: nothing is counted, or not for long enough. */
  readonly pace: {
    readonly inFlight: number
    readonly perSecond: number
    readonly errorsPerSecond: number
    readonly refusedPerSecond: number
    readonly p50Ms: number | null
    readonly p99Ms: number | null
  } | null
  /** Null: nothing is counted. */
  readonly history: { readonly stepSeconds: number; readonly perSecond: readonly number[] } | null
}

// A gateway tells 180 steps: more is none of its.
const mostSteps = 1000

const steps: Read<readonly number[]> = (value, path) => list(number)(value, path).slice(-mostSteps)

/** Reads it. */
export const overview = shape<Overview>({
  status,
  operations: list(
    shape<OperationStatus>({
      id: text,
      state: text,
      failing: nullable(flag),
      pace: nullable(
        shape<NonNullable<OperationStatus['pace']>>({
          inFlight: number,
          perSecond: number,
          errorsPerSecond: number,
          refusedPerSecond: number,
          p50Ms: nullable(number),
          p99Ms: nullable(number),
        }),
      ),
      history: nullable(shape<NonNullable<OperationStatus['history']>>({ stepSeconds: number, perSecond: steps })),
    }),
  ),
})
