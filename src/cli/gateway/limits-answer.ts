import { flag, list, nullable, number, shape, text } from './shape.ts'

/** Is how near the gateway is to what it takes on at most. */
export interface LimitsStatus {
  /** Null: nothing is counted by rate, or the gateway is older than that. */
  readonly rate: {
    readonly store: string
    readonly state: string
    readonly since: string
    readonly where: string | null
    readonly evictions: number
  } | null
  readonly concurrency: readonly { readonly key: string; readonly inFlight: number; readonly limit: number }[]
  readonly eventLoop: {
    readonly delayMs: number
    readonly limitMs: number
    readonly sheds: boolean
    readonly since: string
    readonly where: string | null
  } | null
}

/** Reads it. */
export const limits = shape<LimitsStatus>({
  rate: nullable(
    shape<NonNullable<LimitsStatus['rate']>>({
      store: text,
      state: text,
      since: text,
      where: nullable(text),
      evictions: number,
    }),
  ),
  concurrency: list(shape<LimitsStatus['concurrency'][number]>({ key: text, inFlight: number, limit: number })),
  eventLoop: nullable(
    shape<NonNullable<LimitsStatus['eventLoop']>>({
      delayMs: number,
      limitMs: number,
      sheds: flag,
      since: text,
      where: nullable(text),
    }),
  ),
})
