import { epochMs } from '../clock.ts'
import { BoundedMap } from './bounded-map.ts'
import type { ExchangeObserver, ExchangeRecord } from './exchange-record.ts'
import { bucketBoundsMs, bucketIndex, type HistogramReport } from './metrics/histogram.ts'
import { mergeBy, type NonEmpty } from './row-counts.ts'
import { pluck, sum, sumReports } from './sum-reports.ts'

/** What became of the requests of a client that was authenticated, over the last fifteen minutes. */
export interface ClientActivityRow {
  /** Its id in `clients`. */
  readonly client: string
  readonly counts: ClientCounts
  /** How long they took, from the first byte of the request to the last of the response. */
  readonly latency: HistogramReport
  /** When the last one ended, in milliseconds since the epoch. */
  readonly lastAt: number
  /** The id of the key that it came with. Null: the method has none. */
  readonly keyId: string | null
}

/** How many requests there were, and how many of them did not go well. */
export interface ClientCounts {
  readonly requests: number
  /** Answered 429. */
  readonly limited: number
  /** Answered with another 4xx. */
  readonly rejected: number
  /** Answered with a 5xx. */
  readonly failed: number
}

/** What the clients of several processes did, as plain data. */
export interface ClientActivityReport {
  /** At most 100, the ones that fare worst first. */
  readonly rows: readonly ClientActivityRow[]
  /** How many clients were seen. */
  readonly seen: number
}

const sliceMs = 60_000
const sliceCount = 15
const maxTracked = 500
const maxRows = 100

/** Counts what becomes of each client's requests, over the last fifteen minutes. */
export class ClientActivity implements ExchangeObserver {
  readonly name = 'clients'
  readonly #clients = new BoundedMap<ClientWindow>(maxTracked, (window, at) => window.isStale(at))

  record(record: ExchangeRecord): void {
    const identity = record.exchange?.identity ?? null
    if (identity === null) return
    const at = epochMs()
    let window = this.#clients.get(identity.client)
    if (window === undefined) {
      window = new ClientWindow(identity.client)
      if (!this.#clients.add(identity.client, window, at)) return
    }
    window.count(record, identity.keyId, at)
  }

  get report(): ClientActivityReport {
    const at = epochMs()
    const rows = this.#clients.values.filter((window) => !window.isStale(at)).map((window) => window.report(at))
    return { rows: worstFirst(rows), seen: rows.length }
  }
}

/** Merges what several processes have seen. */
export const mergeClientActivity = (each: readonly ClientActivityReport[]): ClientActivityReport => {
  const rows = mergeBy(
    each.flatMap((one) => one.rows),
    ({ client }) => client,
    mergeRows,
  )
  return { rows: worstFirst(rows), seen: Math.max(rows.length, ...pluck(each, 'seen')) }
}

const mergeRows = (same: NonEmpty<ClientActivityRow>): ClientActivityRow => ({
  ...same.reduce((last, row) => (row.lastAt > last.lastAt ? row : last)),
  counts: sumReports(same[0].counts, pluck(same, 'counts')),
  latency: sumReports(same[0].latency, pluck(same, 'latency')),
})

const worstFirst = (rows: readonly ClientActivityRow[]): readonly ClientActivityRow[] =>
  rows
    .toSorted(({ counts: a, ...one }, { counts: b, ...other }) => {
      return b.failed - a.failed || b.limited - a.limited || b.rejected - a.rejected || other.lastAt - one.lastAt
    })
    .slice(0, maxRows)

// What a slice counts, before the buckets of its histogram.
const places = { requests: 0, limited: 1, rejected: 2, failed: 3, totalMs: 4 } as const
const firstBucket = Object.keys(places).length
const bucketCount = bucketBoundsMs.length + 1
const sliceWidth = firstBucket + bucketCount

/** The last fifteen minutes of one client, a minute to a slice: numbers in one array, no object for each. */
class ClientWindow {
  readonly #client: string
  readonly #numbers = new Float64Array(sliceCount * sliceWidth)
  /** Which minute since the epoch each slice counts. */
  readonly #minutes: number[] = new Array(sliceCount).fill(-sliceCount)
  #lastAt = 0
  #keyId: string | null = null

  constructor(client: string) {
    this.#client = client
  }

  /** Whether its last request is older than fifteen minutes. */
  isStale(at: number): boolean {
    return at - this.#lastAt >= sliceCount * sliceMs
  }

  count({ status, totalMs }: ExchangeRecord, keyId: string | null, at: number): void {
    const minute = Math.trunc(at / sliceMs)
    const slice = minute % sliceCount
    const from = slice * sliceWidth
    if (this.#minutes[slice] !== minute) {
      this.#minutes[slice] = minute
      this.#numbers.fill(0, from, from + sliceWidth)
    }
    this.#add(from + places.requests, 1)
    this.#add(from + places.totalMs, totalMs)
    this.#add(from + firstBucket + bucketIndex(totalMs), 1)
    if (status >= 400)
      this.#add(from + (status >= 500 ? places.failed : status === 429 ? places.limited : places.rejected), 1)
    this.#lastAt = at
    this.#keyId = keyId
  }

  report(at: number): ClientActivityRow {
    const minute = Math.trunc(at / sliceMs)
    const recent = this.#minutes.flatMap((each, slice) =>
      each > minute - sliceCount && each <= minute ? [slice * sliceWidth] : [],
    )
    const total = (place: number): number => sum(recent.map((from) => this.#numbers[from + place] as number))
    const { requests, limited, rejected, failed, totalMs } = places
    return {
      client: this.#client,
      counts: { requests: total(requests), limited: total(limited), rejected: total(rejected), failed: total(failed) },
      latency: {
        counts: Array.from({ length: bucketCount }, (_, bucket) => total(firstBucket + bucket)),
        sumMs: total(totalMs),
      },
      lastAt: this.#lastAt,
      keyId: this.#keyId,
    }
  }

  #add(place: number, amount: number): void {
    this.#numbers[place] = (this.#numbers[place] as number) + amount
  }
}
