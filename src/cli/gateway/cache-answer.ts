import { map, nullable, number, shape, text } from './shape.ts'

/** Is what is stored of answers, and of how much use that is. */
export interface CacheStatus {
  readonly bytes: number
  readonly maxBytes: number
  /** Null: `cache.redis` is off. */
  readonly redis: {
    readonly state: string
    readonly since: string
    readonly reason: string | null
    readonly where: string | null
  } | null
  readonly operations: Readonly<Record<string, CachedStatus>>
}

/** Is what is stored of one operation. */
export interface CachedStatus {
  readonly bytes: number
  readonly entries: number
  /** Null: it has not been asked for. */
  readonly hitRatio: number | null
}

/** Reads it. */
export const cache = shape<CacheStatus>({
  bytes: number,
  maxBytes: number,
  redis: nullable(
    shape<NonNullable<CacheStatus['redis']>>({
      state: text,
      since: text,
      reason: nullable(text),
      where: nullable(text),
    }),
  ),
  operations: map(shape<CachedStatus>({ bytes: number, entries: number, hitRatio: nullable(number) })),
})
